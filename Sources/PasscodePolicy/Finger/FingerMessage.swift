/// What the module sends to `passcode-finger`, and what comes back, version 1. Numbers are little-endian.
///
/// A request has 8 bytes. The connection then stays open for as long as the prompt does: its end stops the reader.
///
///     offset 0    version       1 byte    1
///     offset 1    operation     1 byte    FingerRequest.Operation
///     offset 2    condition     1 byte    1: refuse unless the person's session is active, local and not locked; or 0
///     offset 3    nothing       1 byte    0
///     offset 4    uid           4 bytes   whose finger it must be
///
/// An event has 16 bytes. `FingerTranscript` says which may follow which:
///
///     offset 0    version       1 byte    1
///     offset 1    kind          1 byte    FingerEvent.Kind
///     offset 2    detail        2 bytes   `ended`: FingerEnd. `listed`: the fingers, one bit each. Else 0
///     offset 4    serial        4 bytes   `matched`: the touch count's, as this touch left it. Else 0
///     offset 8    time          8 bytes   `matched`: CLOCK_BOOTTIME in milliseconds. Else 0
///
/// `passcode-finger` MUST
///  1  take nothing from its caller but a uid: no argument, environment, descriptor or signal state.
///                                                                          test_finger_caller.py
///  2  be root in every id before it connects to the bus, so that the person can't stop it while it holds the reader;
///     without root's privileges, answer only `list` for its own uid, and be its caller's in every id.
///                                                                          test_finger_caller.py, test_finger_status.py
///  3  believe a result only from the connection that owned `net.reactivated.Fprint` and is root's, about the device
///     that it claimed, after VerifyStart was answered.           ReaderDialogTests, test_finger_attacks.py
///  4  charge each touch under the count's lock before it tells its result; a touch that can't be charged is no match.
///                                                                TouchCountTests, test_finger_touches.py
///  5  hold the reader for at most 30 s and 3 touches that don't match, and free it when its caller ends, however that
///     happens: 0.1 s later it is free, and a touch that was decided by then is charged.
///                                                                test_finger.py, test_finger_caller.py
///  6  use the system bus at its usual place, whatever the environment says.     test_finger_attacks.py
///  7  where its caller runs for a person, use the reader only while that person's session is active, local and not
///     locked: the caller's own session, or else the person's display session.   SessionDialogTests,
///                                                                               test_finger_session.py
///
/// Its caller MUST take anything but a valid transcript as no match.              FingerTranscriptTests, FuzzFinger
///
/// What decodes, encodes to the same bytes.                                       FingerMessageTests, FuzzFinger
public struct FingerRequest: Equatable, Sendable {
  public static let length = 8

  public enum Operation: UInt8, CaseIterable, Sendable {
    /// Hold the reader for a prompt, and tell what happens.
    case watch = 1
    /// Tell which fingers are enrolled.
    case list = 2
    /// Tell whether the person's session is active, local and not locked, and do nothing else.
    case session = 3
  }

  public let operation: Operation
  public let uid: UInt32
  /// The caller runs for a person and not for the machine. (A login program runs for nobody yet.)
  public let wantsSession: Bool

  public init(_ operation: Operation, uid: UInt32, wantsSession: Bool = false) {
    self.operation = operation
    self.uid = uid
    self.wantsSession = wantsSession
  }

  /// A question that anyone may ask about themselves.
  public func isOwnList(_ uid: UInt32) -> Bool {
    operation == .list && self.uid == uid
  }

  public var bytes: Bytes {
    [1, operation.rawValue, wantsSession ? 1 : 0, 0] + littleEndian(UInt64(uid), 4)
  }

  /// nil if there is any doubt.
  public init?(_ bytes: Bytes) {
    guard bytes.count == FingerRequest.length, bytes[0] == 1, bytes[2] <= 1, bytes[3] == 0,
      let operation = Operation(rawValue: bytes[1])
    else { return nil }
    self.init(operation, uid: UInt32(littleEndianNumber(bytes, 4, 4)), wantsSession: bytes[2] == 1)
  }
}

/// Why the reader isn't used, or no longer.
public enum FingerEnd: UInt8, CaseIterable, Sendable {
  /// The bus or fprintd can't be reached.
  case noService = 1
  case noReader = 2
  /// Another program holds the reader.
  case inUse = 3
  /// fprintd refuses it to us.
  case denied = 4
  case notEnrolled = 5
  /// 5 touches in a row didn't match.
  case off = 6
  /// The reader wasn't ready within 300 ms, so the prompt came without it.
  case slow = 7
  /// The bus, fprintd or the reader went away, or the reader failed.
  case gone = 8
  /// 3 touches at this prompt didn't match.
  case tries = 9
  /// 30 s are over.
  case time = 10
  /// What fprintd said makes no sense, or a touch couldn't be charged.
  case failed = 11
  /// The person's session isn't active, local and unlocked, or nothing tells.
  case noSession = 12

  /// What the log says: `finger=WORD`.
  public var word: String {
    switch self {
    case .noService: "no-service"
    case .noReader: "no-reader"
    case .inUse: "in-use"
    case .denied: "denied"
    case .notEnrolled: "not-enrolled"
    case .off: "off"
    case .slow: "slow"
    case .gone: "gone"
    case .tries: "tries"
    case .time: "time"
    case .failed: "failed"
    case .noSession: "no-session"
    }
  }
}

/// What happened at the reader.
public enum FingerEvent: Equatable, Sendable {
  /// The bus starts fprintd; the prompt needn't wait for that.
  case starting
  /// The reader waits for a touch.
  case watching
  /// A touch was charged and didn't match.
  case noMatch
  /// A touch was charged and matched; `serial` is the count's.
  case matched(serial: UInt32, milliseconds: UInt64)
  case ended(FingerEnd)
  /// The answer to `list`.
  case listed(Fingers)
  /// The answer to `session`.
  case present

  public static let length = 16

  private enum Kind: UInt8 {
    case starting = 1
    case watching = 2
    case noMatch = 3
    case matched = 4
    case ended = 5
    case listed = 6
    case present = 7
  }

  public var bytes: Bytes {
    switch self {
    case .starting: FingerEvent.bytes(.starting)
    case .watching: FingerEvent.bytes(.watching)
    case .noMatch: FingerEvent.bytes(.noMatch)
    case .matched(let serial, let time): FingerEvent.bytes(.matched, serial: serial, time: time)
    case .ended(let end): FingerEvent.bytes(.ended, detail: UInt16(end.rawValue))
    case .listed(let fingers): FingerEvent.bytes(.listed, detail: fingers.bits)
    case .present: FingerEvent.bytes(.present)
    }
  }

  private static func bytes(_ kind: Kind, detail: UInt16 = 0, serial: UInt32 = 0, time: UInt64 = 0) -> Bytes {
    [1, kind.rawValue] + littleEndian(UInt64(detail), 2) + littleEndian(UInt64(serial), 4)
      + littleEndian(time, 8)
  }

  /// nil if there is any doubt.
  public init?(_ bytes: Bytes) {
    guard bytes.count == FingerEvent.length, bytes[0] == 1, let kind = Kind(rawValue: bytes[1]) else {
      return nil
    }
    let detail = UInt16(littleEndianNumber(bytes, 2, 2))
    let serial = UInt32(littleEndianNumber(bytes, 4, 4))
    let time = littleEndianNumber(bytes, 8, 8)
    // What the kind doesn't use must be 0.
    guard detail == 0 || kind == .ended || kind == .listed, serial == 0 && time == 0 || kind == .matched
    else { return nil }
    switch kind {
    case .starting: self = .starting
    case .watching: self = .watching
    case .noMatch: self = .noMatch
    case .matched: self = .matched(serial: serial, milliseconds: time)
    case .ended:
      guard let end = UInt8(exactly: detail).flatMap({ FingerEnd(rawValue: $0) }) else { return nil }
      self = .ended(end)
    case .listed:
      guard let fingers = Fingers(bits: detail) else { return nil }
      self = .listed(fingers)
    case .present: self = .present
    }
  }
}
