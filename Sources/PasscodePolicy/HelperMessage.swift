/// What goes to the helper and comes back, version 1. Numbers are little-endian.
///
/// A request is a head of 10 bytes, then the secrets whose lengths it names, then (but for a look) the end of the
/// stream:
///
///     offset 0    version       1 byte    1
///     offset 1    operation     1 byte    HelperOperation
///     offset 2    uid           4 bytes   the account that it is about
///     offset 6    conditions    1 byte    bit 0: refuse before this boot's first login; the rest 0
///     offset 7    lengths       1 byte    passcode in the low half, new passcode in the high one: 0, 4 or 6
///     offset 8    password      2 bytes   its length: 0 to 512
///     offset 10   the passcode, the new passcode, the password
///
/// A reply is this, then the end of the stream. Only after `open` the helper waits: an attempt on the same account may
/// follow, and its reply:
///
///     offset 0    version       1 byte    1
///     offset 1    kind          1 byte    HelperReply.Kind
///     offset 2    numbers       5 of 8 bytes; those that the kind doesn't use are 0
///     offset 42   text          the rest, up to 1,024 bytes, no control characters; only where the kind has one
///
/// - Both are parsed to their end; a byte too many or too few, an unknown value, or secrets that the
///   operation doesn't ask for are no message at all.
/// - What decodes, encodes to the same bytes.                                HelperMessageTests, FuzzHelper
/// - Secrets aren't part of the head: they go from guarded memory to guarded memory, and are in no Array.
public struct HelperRequest: Equatable, Sendable {
  public static let headLength = 10
  /// Bytes; as many as `Secrets` has room for.
  public static let longestPassword = 512

  /// Bytes of each secret that follows the head, in this order.
  public struct Lengths: Equatable, Sendable {
    public let passcode: Int
    public let new: Int
    public let password: Int

    public init(passcode: Int = 0, new: Int = 0, password: Int = 0) {
      self.passcode = passcode
      self.new = new
      self.password = password
    }
  }

  public let operation: HelperOperation
  public let uid: UInt32
  /// Refuse, unless the account has logged in by other means since the machine started.
  public let wantsLogin: Bool
  public let lengths: Lengths

  public init(_ operation: HelperOperation, uid: UInt32, wantsLogin: Bool = false, lengths: Lengths) {
    self.operation = operation
    self.uid = uid
    self.wantsLogin = wantsLogin
    self.lengths = lengths
  }

  /// As it is sent: `headLength` bytes.
  public func head() -> Bytes {
    [
      1, operation.rawValue, low(uid), low(uid >> 8), low(uid >> 16), low(uid >> 24), wantsLogin ? 1 : 0,
      low(UInt32(lengths.passcode | lengths.new << 4)), low(UInt32(lengths.password)),
      low(UInt32(lengths.password >> 8)),
    ]
  }

  /// nil if there is any doubt.
  public init?(head: Bytes) {
    guard head.count == HelperRequest.headLength, head[0] == 1, head[6] <= 1 else { return nil }
    guard let operation = HelperOperation(rawValue: head[1]) else { return nil }
    let lengths = Lengths(
      passcode: Int(head[7] & 15), new: Int(head[7] >> 4), password: Int(littleEndianNumber(head, 8, 2)))
    guard lengths.areSound, operation.row.accepts(lengths) else { return nil }
    self.init(
      operation, uid: UInt32(littleEndianNumber(head, 2, 4)), wantsLogin: head[6] == 1, lengths: lengths)
  }
}

extension HelperRequest.Lengths {
  fileprivate var areSound: Bool {
    isSound(passcode) && isSound(new) && password <= HelperRequest.longestPassword
  }

  private func isSound(_ length: Int) -> Bool {
    length == 0 || Answer.isLength(length)
  }
}

/// The helper's one answer.
public struct HelperReply: Equatable, Sendable {
  public enum Kind: UInt8, CaseIterable, Sendable {
    // Verdicts.
    case granted = 1
    /// Numbers: failures, attempts left.
    case wrong = 2
    /// Numbers: failures, milliseconds.
    case wrongAndLocked = 3
    /// Numbers: failures.
    case wrongAndExhausted = 4
    /// Numbers: failures, milliseconds.
    case locked = 5
    /// Numbers: failures.
    case exhausted = 6
    case disabled = 7
    case notEnrolled = 8
    case notPermitted = 9
    case beforeLogin = 10
    /// Numbers: 1 where the configuration is at fault. Text: what is wrong.
    case unavailable = 11

    // Other answers.
    /// To `look`: nothing speaks against asking for a passcode. The helper waits for the attempt.
    case open = 16
    /// Numbers: `HelperStatus`.
    case status = 17
    /// Numbers: 1 where there was something to do.
    case done = 18
    case wrongPassword = 19
    /// `self_enroll=no`
    case closed = 20
    /// Text: why the new passcode is refused.
    case refused = 21
    /// As `open`, but the helper ends: the attempt needs another one.
    case openWithoutWaiting = 22

    /// So many of the numbers count.
    var numbers: Int {
      switch self {
      case .wrong, .wrongAndLocked, .locked: 2
      case .wrongAndExhausted, .exhausted, .unavailable, .done: 1
      case .status: HelperReply.numbers
      case .granted, .disabled, .notEnrolled, .notPermitted, .beforeLogin,
        .open, .openWithoutWaiting, .wrongPassword, .closed, .refused:
        0
      }
    }

    var hasText: Bool { self == .unavailable || self == .refused }
  }

  /// So many numbers every reply has.
  public static let numbers = 5
  /// Bytes.
  public static let longestText = 1_024
  /// As long is a reply without text.
  public static let textOffset = 2 + numbers * 8
  public static let longest = textOffset + longestText

  /// As it is sent.
  public let bytes: Bytes
  public var kind: Kind { Kind(rawValue: bytes[1]) ?? .unavailable }
  public var text: Bytes { Bytes(bytes[HelperReply.textOffset...]) }

  /// One of the five.
  public func number(_ index: Int) -> UInt64 {
    littleEndianNumber(bytes, 2 + index * 8, 8)
  }

  /// - Parameters:
  ///   - numbers: those that the kind has; missing ones are 0.
  ///   - text: what is longer is cut, and control characters are left out.
  public init(_ kind: Kind, _ numbers: [UInt64] = [], text: Bytes = []) {
    var bytes: Bytes = [1, kind.rawValue]
    for index in 0..<HelperReply.numbers {
      bytes += littleEndian(index < numbers.count ? numbers[index] : 0, 8)
    }
    for byte in text.prefix(HelperReply.longestText) where !isControl(byte) { bytes.append(byte) }
    self.bytes = bytes
  }

  /// nil if there is any doubt.
  public init?(_ bytes: Bytes) {
    guard (HelperReply.textOffset...HelperReply.longest).contains(bytes.count), bytes[0] == 1,
      let kind = Kind(rawValue: bytes[1])
    else { return nil }
    for index in 2 + kind.numbers * 8..<HelperReply.textOffset where bytes[index] != 0 { return nil }
    for index in HelperReply.textOffset..<bytes.count where !kind.hasText || isControl(bytes[index]) {
      return nil
    }
    self.bytes = bytes
  }
}

private func isControl(_ byte: UInt8) -> Bool {
  byte < 0x20 || byte == 0x7f
}

private func low(_ number: UInt32) -> UInt8 {
  UInt8(truncatingIfNeeded: number)
}
