/// How many touches in a row didn't match, over all prompts: the file /run/passcode/<uid>.finger.
///
///     offset 0    version       1 byte    1
///     offset 1    touches       1 byte    0 to 5
///     offset 2    nothing       2 bytes   0
///     offset 4    serial        4 bytes   little-endian; one more with each write, from 2^32 - 1 back to 0
///
/// - An empty file is a count of 0: it was made, and nothing has been charged yet. Any other content is damage, and
///   the finger is off until a passcode opens.
/// - MUST: a touch is charged before the reader waits for it, so a process that is killed at any point gains none: it
///   loses one, which a passcode brings back.               TouchCountTests, test_finger_touches.py
/// - MUST: a match is no longer charged, and is believed only while the serial is the one that it left: no other touch
///   was charged, no other match was used, and nothing was reset since.  TouchCountTests, test_finger_touches.py
/// - fprintd has no limit of its own, and touches that other programs ask for aren't counted here.
public struct TouchCount: Equatable, Sendable {
  /// How many touches may be charged before the fingerprint reader is turned off.
  public static let limit: UInt8 = 5
  /// Bytes of the file.
  public static let length = 8

  public let touches: UInt8
  public let serial: UInt32

  /// No touch is believed until a passcode opens.
  public var isOff: Bool { touches >= TouchCount.limit }

  /// The count after a login by passcode or by a match: no touches, and the next serial.
  public func cleared() -> TouchCount {
    TouchCount(touches: 0, serial: serial &+ 1)
  }

  public var bytes: Bytes {
    var bytes: Bytes = [1, touches, 0, 0]
    bytes.append(UInt64(serial), bytes: 4)
    return bytes
  }
}

extension TouchCount {
  public init() {
    self.init(touches: 0, serial: 0)
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ bytes: Bytes) {
    if bytes.isEmpty {
      self.init()
      return
    }
    guard bytes.count == TouchCount.length, bytes[0] == 1, bytes[1] <= TouchCount.limit, bytes[2] == 0,
      bytes[3] == 0
    else { return nil }
    self.init(touches: bytes[1], serial: UInt32(littleEndianNumber(bytes, 4, 4)))
  }
}
