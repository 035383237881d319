/// What goes to the helper and comes back, version 1. Numbers are little-endian.
///
/// A request is a head of 10 bytes, then the service's name if there is one, then the secrets whose lengths the head
/// names, then (but for a look) the end of the stream:
///
///     offset 0    version       1 byte    1
///     offset 1    operation     1 byte    HelperOperation
///     offset 2    uid           4 bytes   the account that it is about
///     offset 6    conditions    1 byte    bit 0: refuse before this boot's first login; bit 1: refuse unless the
///                                         passcode may be a second factor; bits 2-7: length of the service's name
///     offset 7    lengths       1 byte    passcode in the low half, new passcode in the high one: 0, 4 or 6; a
///                                         one-time code has 8 and is in the passcode's place
///     offset 8    password      2 bytes   its length: 0 to 512
///     offset 10   the PAM service's name (`Record.serviceName`), the passcode, the new passcode, the password
///
/// A reply is this, then the end of the stream. Only after `openWaiting` the helper waits: an attempt on the same account may
/// follow, and its reply:
///
///     offset 0    version       1 byte    1
///     offset 1    kind          1 byte    HelperReply.Kind
///     offset 2    numbers       5 of 8 bytes, 6 in a `status`, 7 in a `statusWithTerms`; those that the kind doesn't use are 0
///     offset 42   text          the rest, up to 1,024 bytes, no control characters; only where the kind has one.
///                               In a `status` at offset 50, in a `statusWithTerms` at 58
///
/// No reply holds a sentence: codes, numbers, paths and names only, and its reader has the words.
///
/// A module or a tool that was loaded before an upgrade may ask a newer helper. That reader takes what it doesn't know
/// for no message, so a new reply MUST NOT look like an old one that it would believe:
///
/// - What failed before a granted attempt is told only where the request names a service: a module of version 0.1 names
///   none, and knows no such reply.
/// - `unavailable` has the form that it always had: number 0 still says whether the configuration is at fault,
///   and the text, once a sentence, is still one line without control characters, which the older reader logs as the
///   cause.
/// - `refused` now has a number, where an older tool expects 0: that tool takes it for no reply, and nothing was set.
/// - An expired passcode, and one that must be changed, have kinds of their own: for an older reader, unavailable.
/// - `openWaiting` has a number after failures: then it, too, is for an older reader unavailable, until that program ends.
/// - Too many wrong passcodes on a workstation, a paused passcode, and one that waits for the password have kinds of their
///   own: for an older reader, unavailable.
///                                                                                      HelperMessageTests
///
/// MUST, of requests and replies:
///
/// - They are parsed to their end; a byte too many or too few, an unknown value, or secrets that the
///   operation doesn't ask for are no message at all.
/// - What decodes, encodes to the same bytes.                                HelperMessageTests, FuzzHelper
/// - Secrets aren't part of the head: they go from guarded memory to guarded memory, and are in no Array.
public struct HelperRequest: Equatable, Sendable {
  public static let headLength = 10
  /// Bytes; as many as a `TypedLine` has room for.
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

  /// What must hold besides, for the service that asks.
  public struct Conditions: Equatable, Sendable {
    /// Refuse, unless the account has logged in by other means since the machine started.
    public var wantsLogin: Bool
    /// Refuse a passcode that anybody but an administrator set or unlocked.
    public var isSecondFactor: Bool

    public init(wantsLogin: Bool = false, isSecondFactor: Bool = false) {
      self.wantsLogin = wantsLogin
      self.isSecondFactor = isSecondFactor
    }
  }

  public let operation: HelperOperation
  public let uid: UInt32
  public let conditions: Conditions
  public let lengths: Lengths
  /// Bytes of the service's name that follow the head.
  public let serviceLength: Int

  /// - Parameter serviceLength: at most `Record.longestService`.
  public init(
    _ operation: HelperOperation, uid: UInt32, _ conditions: Conditions = Conditions(), lengths: Lengths,
    serviceLength: Int = 0
  ) {
    self.operation = operation
    self.uid = uid
    self.conditions = conditions
    self.lengths = lengths
    self.serviceLength = serviceLength
  }

  /// The request's head as bytes, `headLength` of them.
  public func head() -> Bytes {
    let bits = (conditions.wantsLogin ? 1 : 0) | (conditions.isSecondFactor ? 2 : 0) | serviceLength << 2
    var head: Bytes = [1, operation.rawValue]
    head.append(UInt64(uid), bytes: 4)
    head.append(UInt64(bits), bytes: 1)
    head.append(UInt64(lengths.passcode | lengths.new << 4), bytes: 1)
    head.append(UInt64(lengths.password), bytes: 2)
    return head
  }

  /// nil unless the input is well-formed and complete.
  public init?(head: Bytes) {
    guard head.count == HelperRequest.headLength, head[0] == 1 else { return nil }
    guard let operation = HelperOperation(rawValue: head[1]) else { return nil }
    let lengths = Lengths(
      passcode: Int(head[7] & 15), new: Int(head[7] >> 4), password: Int(littleEndianNumber(head, 8, 2)))
    let serviceLength = Int(head[6] >> 2)
    guard operation.row.accepts(lengths), serviceLength <= Record.longestService else {
      return nil
    }
    let conditions = Conditions(wantsLogin: head[6] & 1 != 0, isSecondFactor: head[6] & 2 != 0)
    self.init(
      operation, uid: UInt32(littleEndianNumber(head, 2, 4)), conditions, lengths: lengths,
      serviceLength: serviceLength)
  }
}

/// The helper's one answer.
public struct HelperReply: Equatable, Sendable {
  public enum Kind: UInt8, CaseIterable, Sendable {
    // Verdicts.
    /// Numbers: failures before it, when the last one was. Text: its service.
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
    /// Numbers: 1 where the configuration is at fault. Text: `Fault` (HelperMessage+Fault.swift).
    case unavailable = 11
    case notAdministrators = 12

    // Other answers.
    /// To `look`: nothing speaks against asking for a passcode. The helper waits for the attempt.
    /// Numbers: after failures, attempts left; else 0.
    case openWaiting = 16
    /// Numbers and text: `HelperStatus`.
    case status = 17
    /// Numbers: 1 where there was something to do.
    case done = 18
    case wrongPassword = 19
    /// Nobody may ask that here: acts by the password with `self_enroll=no` or `second_factor`, or in a fleet; a pause with
    /// `second_factor`; a one-time code without a fleet; what a verifier isn't asked.
    case closed = 20
    /// Numbers: why the new passcode is refused (HelperMessage+Fault.swift).
    case refused = 21
    /// As `openWaiting`, but the helper ends: the attempt needs another one.
    case openEnding = 22
    /// The password that was proven is itself 4 or 6 digits: no passcode is set beside it.
    case passwordIsDigits = 23
    // Later verdicts, and a status that can say them.
    case expired = 24
    case mustChange = 25
    /// A status of a passcode that an administrator gave out, with its terms.
    case statusWithTerms = 26
    /// No one-time code is valid for the account.
    case noCode = 27
    // Added later: `NotPermitted.workstation`, and then those of the same names.
    case stationLocked = 28
    case paused = 29
    case passwordDue = 30
    case fingerNeeded = 31

    /// So many of the numbers count.
    var numbers: Int {
      switch self {
      case .granted, .wrong, .wrongAndLocked, .locked: 2
      case .wrongAndExhausted, .exhausted, .unavailable, .openWaiting, .openEnding, .done, .refused: 1
      case .status: 6
      case .statusWithTerms: 7
      case .disabled, .expired, .mustChange, .notEnrolled, .notPermitted, .notAdministrators, .beforeLogin,
        .wrongPassword, .closed, .passwordIsDigits, .noCode, .stationLocked, .paused,
        .passwordDue, .fingerNeeded:
        0
      }
    }

    /// Where the text starts; as long is a reply without one.
    public var textOffset: Int { 2 + max(HelperReply.numbers, numbers) * 8 }

    var hasText: Bool {
      self == .granted || self == .unavailable || self == .status || self == .statusWithTerms
    }
  }

  /// Every reply carries at least this many numbers.
  static let numbers = 5
  /// Bytes.
  public static let longestText = 1_024
  public static let longest = Kind.statusWithTerms.textOffset + longestText

  /// The reply as bytes.
  public let bytes: Bytes
  @inline(never)
  public var kind: Kind { Kind(rawValue: bytes[1]) ?? .unavailable }
  @inline(never)
  public var text: Bytes { Bytes(bytes[kind.textOffset...]) }

  /// - Precondition: one that the kind has, or below 5.
  public func number(_ index: Int) -> UInt64 {
    littleEndianNumber(bytes, 2 + index * 8, 8)
  }

  /// - Parameters:
  ///   - numbers: those that the kind has; missing ones are 0.
  ///   - text: what is longer is cut, and control characters are left out.
  public init(_ kind: Kind, _ numbers: [UInt64] = [], text: Bytes = []) {
    var bytes: Bytes = [1, kind.rawValue]
    for index in 0..<max(HelperReply.numbers, kind.numbers) {
      bytes.append(index < numbers.count ? numbers[index] : 0, bytes: 8)
    }
    for byte in text[..<min(text.count, HelperReply.longestText)] where !isControl(byte) {
      bytes.append(byte: byte)
    }
    self.bytes = bytes
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ bytes: Bytes) {
    guard bytes.count >= 2, bytes[0] == 1, let kind = Kind(rawValue: bytes[1]),
      (kind.textOffset...kind.textOffset + HelperReply.longestText).contains(bytes.count)
    else { return nil }
    for index in 2 + kind.numbers * 8..<kind.textOffset where bytes[index] != 0 { return nil }
    for index in kind.textOffset..<bytes.count where !kind.hasText || isControl(bytes[index]) {
      return nil
    }
    self.bytes = bytes
  }
}

package func isControl(_ byte: UInt8) -> Bool {
  byte < 0x20 || byte == 0x7f
}
