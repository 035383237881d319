public import PasscodePolicy

/// What each server of a fleet notes of itself in etcd, each minute, for `check` on the others:
///
///     passcode_server=1
///     version=0.3
///     time=1795390776              seconds since 1970, by its own clock: told, and never relied on
///     key=5f0c…                    32 hexadecimal digits: a digest of what all servers have alike (options
///                                  and the list of workstations), keyed by its fleet key
///
/// Its key in etcd has the server's host name, in hexadecimal, and a lease: who doesn't note itself for 10 minutes is
/// missing.                                                                                      ServerNoteTests, FuzzWard
public struct ServerNote: Equatable, Sendable {
  /// The server's program version, at most 64 visible characters.
  public let version: Bytes
  public let time: UInt64
  public let mark: Bytes

  /// Seconds.
  public static let lease: UInt64 = 600
  public static let markLength = 16

  public init(version: Bytes, time: UInt64, mark: Bytes) {
    self.version = version
    self.time = time
    self.mark = mark
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ value: Bytes) {
    var lines = FleetLines(value)
    guard lines.number("passcode_server") == 1, let version = lines.value("version"),
      (1...64).contains(version.count), version.allSatisfy({ (0x21...0x7e).contains($0) }),
      let time = lines.number("time"), let digits = lines.value("key"),
      digits.count == 2 * ServerNote.markLength, let mark = bytes(hexadecimal: digits), lines.rest.isEmpty
    else { return nil }
    self.init(version: Bytes(version), time: time, mark: mark)
  }

  public var encoded: Bytes {
    Text("passcode_server=1\nversion=\(version)\ntime=\(time)\nkey=\(hexadecimal(mark))\n").bytes
  }
}
