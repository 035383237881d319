/// Whether one pass through the accounts names them all: nsswitch.conf(5) names no sources of accounts but /etc/passwd
/// and nss-systemd(8). Directory services often don't enumerate.
///
/// - Parameter text: the file's; in doubt the answer is no.
public func passNamesEveryAccount(nsswitch text: Bytes) -> Bool {
  let lines = text[...].parts(between: UInt8(ascii: "\n")).filter { $0.begins(with: "passwd:") }
  guard lines.count == 1 else { return false }
  for words in lines[0].dropFirst(7).parts(between: UInt8(ascii: " ")) {
    for word in words.parts(between: UInt8(ascii: "\t")) {
      guard word.isEmpty || word.spells("files") || word.spells("systemd") else { return false }
    }
  }
  return true
}
