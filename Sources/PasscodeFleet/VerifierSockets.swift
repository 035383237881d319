internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// The sockets that lead to a fleet's servers, and which of them is asked first.
///
/// A server can hang in a way that the TLS program doesn't notice: there is a connection, but no answer comes. Or the
/// server answers, but its etcd is down. Therefore there may be a second socket, with the name of the first one and
/// ".2" after it, for which the TLS program's list of servers begins with another server.
///
///     /run/passcode/second    when the first one last gave no answer, or a slow one (CLOCK_BOOTTIME in milliseconds,
///                             8 bytes, little-endian); 0: the second one did so since
///
/// Only the time that a login takes depends on that file. A note is valid for a minute: then the first one is tried again.
struct VerifierSockets {
  private static var name: Bytes { Bytes(text: "second") }

  private let usual: Bytes
  /// The path of the second socket; nil if there is none.
  private let other: Bytes?
  private let beginsWithOther: Bool

  init(_ usual: Bytes) {
    let other = usual + Bytes(text: ".2")
    let isThere = (try? FileStatus.of(other)) != nil
    self.usual = usual
    self.other = isThere ? other : nil
    beginsWithOther = isThere && VerifierSockets.isNoted()
  }

  /// Which one is asked first, and which one if that gives no answer (nil: there is no other).
  var first: Bytes { (beginsWithOther ? other : nil) ?? usual }
  var second: Bytes? { beginsWithOther ? usual : other }
  /// The verifier's socket that is asked second; nil where there is only one.
  func other(than socket: Bytes) -> Bytes? { socket == first ? second : first }

  /// Remembers that a socket gave no answer, or a slow one: for a minute, the other one is asked first.
  func avoid(_ socket: Bytes) {
    guard other != nil, let now = SystemClock.bootMilliseconds(), let folder = try? RunFolder.open(.service)
    else { return }
    let time = littleEndian(socket == usual ? now : 0, 8)
    if let file = try? folder.open(VerifierSockets.name, .readWrite) {
      try? file.write(time, at: 0)
    } else if let file = try? folder.open(VerifierSockets.name, .create(mode: 0o600)) {
      try? file.write(time, at: 0)
    }
  }

  private static func isNoted() -> Bool {
    guard let folder = try? RunFolder.open(.service), let file = try? folder.open(name, .readWrite),
      let noted = try? file.read(8, at: 0), noted.count == 8, let now = SystemClock.bootMilliseconds()
    else { return false }
    let time = littleEndianNumber(noted, 0, 8)
    return time != 0 && time <= now && now - time < 60_000
  }
}
