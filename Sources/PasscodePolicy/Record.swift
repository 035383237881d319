/// What is kept of one user: the credential, sealed, and the ledger, together, so that one write changes
/// everything at once or nothing.
public struct Record: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    /// No passcode (never had one, or it was removed).
    case removed
    /// The credential as PasscodeVault seals it: nonce, ciphertext and tag.
    case enrolled(sealed: Bytes)
  }

  /// Counts the writes; the valid slot with the higher one is the record.
  public var generation: UInt64
  public let uid: UInt32
  /// The account's name when this record was made or last enrolled; 1 to 255 bytes, no control characters.
  public var name: Bytes
  public var state: State
  /// Suspended by an administrator; survives removal and enrolment.
  public var suspended: Bool
  public var ledger: Ledger
  /// For people to read (seconds since 1970, wall clock; 0: never). Nothing is decided by them.
  public var times: Times

  public struct Times: Equatable, Sendable {
    public var enrolled: UInt64 = 0
    public var success: UInt64 = 0
    public var failure: UInt64 = 0

    public init() {}

    public init(enrolled: UInt64, success: UInt64, failure: UInt64) {
      self.enrolled = enrolled
      self.success = success
      self.failure = failure
    }
  }

  /// A record without a passcode, of the given generation.
  public init(uid: UInt32, name: Bytes, generation: UInt64) {
    self.generation = generation
    self.uid = uid
    self.name = name
    state = .removed
    suspended = false
    ledger = .clear
    times = Times()
  }

  /// A name that a record can keep: 1 to 255 bytes, none of them a control character.
  public static func canKeep(name: some Collection<UInt8>) -> Bool {
    (1...255).contains(name.count) && name.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  /// The longest sealed credential that fits.
  public static let longestSealed = 256
}
