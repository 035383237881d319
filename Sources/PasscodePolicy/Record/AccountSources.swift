/// Whether one pass through the accounts names them all: nsswitch.conf(5) names no sources of accounts but /etc/passwd
/// and nss-systemd(8). Directory services often don't enumerate.
///
/// - Parameter text: the file's; in doubt the answer is no.
public func passNamesEveryAccount(nsswitch text: Bytes) -> Bool {
  var lines = 0
  for line in text[...].parts(between: UInt8(ascii: "\n")) where line.begins(with: "passwd:") {
    lines += 1
    for source in line.dropFirst(7).words() where !source.spells("files") && !source.spells("systemd") {
      return false
    }
  }
  return lines == 1
}
