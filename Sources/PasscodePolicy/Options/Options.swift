/// The values of all options, with their defaults. The table in OptionTable.swift names each option.
public struct Options: Equatable, Sendable {
  public var policy = Policy()
  public var door = Door()

  public init() {}

  /// Policy: the same for every service and for the helper, so it is set in the file only.
  public struct Policy: Equatable, Sendable {
    public var store = Bytes(text: "/var/lib/passcode")
    public var keyFile = Bytes(text: "/etc/passcode/key")
    /// Lengths that a new passcode may have; never empty.
    public var lengths = Lengths(four: true, six: true)
    public var lockout = Schedule.standard
    public var weak = Weak.refuse
    /// Empty: there is no list.
    public var weakList = Bytes()
    public var cost = Cost(operations: 3, memory: 64 << 20)
    /// How many may run Argon2 at once, 1 to `mostParallel`; 0: as many as the machine bears.
    public var maxParallel: UInt64 = 0
    public static let mostParallel = 64
    /// Whether people may set, remove and unlock their own passcode with their password.
    public var allowsSelfEnroll = true
    /// Passcodes serve beside the password, which proves no right to set, remove or unlock one: people may not then.
    public var secondFactor = false
    /// Seconds after which the passcode waits until the password is proven, `passwordEveryRange`; 0: never.
    public var passwordEvery: UInt64 = 0
    /// Seconds: an hour to 30 days.
    public static let passwordEveryRange: ClosedRange<UInt64> = 3_600...2_592_000
    /// `finger=both`: the passcode opens nothing without a touch that matches at the same prompt (Attempt+Finger.swift).
    public var needsFinger = false
    /// The socket that leads to a fleet's verifier; empty: there is none.
    public var verifier = Bytes()
    /// Bytes of a path that a socket's address has room for.
    public static let longestSocketPath = 107
    /// Whose passcodes the verifier keeps; `asksVerifier` decides.
    public var verifierUIDs = UserRanges.people

    /// Whether `finger=both` stands where the password couldn't stand in for passcode and finger: where it is asked for
    /// anyway, or in a fleet, whose servers see no finger.
    var isContradictory: Bool { needsFinger && (secondFactor || !verifier.isEmpty) }

    /// Whether the account's password gives the right to an operation of the helper. It ends a pause even if it may not set
    /// a passcode, except with `second_factor`, where it is asked for anyway.
    public func takesPassword(for operation: HelperOperation) -> Bool {
      allowsSelfEnroll || operation == .resume && !secondFactor
    }

    /// Whether an account's passcode is kept by a fleet's verifier. Never root's, nor that of `nobody`.
    public func asksVerifier(_ uid: UInt32) -> Bool {
      !verifier.isEmpty && uid != 0 && uid != 65_534 && verifierUIDs.contain(uid)
    }
  }

  /// A service's own options (a door: where people log in): in the file or, overriding it, in a module line.
  public struct Door: Equatable, Sendable {
    /// Whether the passcode works for a login from another machine.
    public var allowsRemote = false
    /// Whether the passcode works before the account has logged in by other means since the machine started.
    public var allowsFirstLogin = true
    /// Seconds that PAM waits after a wrong passcode, or a refusal without a prompt: 0 to 60.
    public var failDelay: UInt64 = 2
    /// Shown while the person types, with a space after it.
    public var prompt = Bytes(text: Door.usualPrompt)
    // Translators: the prompt at a login. A passcode is 4 or 6 digits; never use the word for a password.
    public static var usualPrompt: Pattern { "Passcode:" }
    /// One field for passcode and password: what is no passcode is left in PAM_AUTHTOK.
    public var either = false
    /// The fingerprint reader at the same prompt.
    public var finger = false
    /// Seconds for which a finger serves after passcode or password were used, `Policy.passwordEveryRange`; 0: always.
    public var fingerFor: UInt64 = 0
    /// Takes what an earlier module asked for, if that is a passcode.
    public var tryFirstPass = false
    /// Takes the passcode that an earlier module asked for, and never asks.
    public var useFirstPass = false
    /// Somebody without a passcode is PAM_IGNORE, not PAM_USER_UNKNOWN.
    public var nullok = false
    /// No messages; the prompt stays, and so does the log.
    public var quiet = false
    public var debug = false
  }

  public struct Lengths: Equatable, Sendable {
    public let four: Bool
    public let six: Bool

    /// Whether a new passcode may have so many digits.
    public func allow(_ length: Int) -> Bool {
      length == 4 && four || length == 6 && six
    }
  }

  /// Argon2id's cost (RFC 9106): passes, and bytes of memory.
  public struct Cost: Equatable, Sendable {
    public var operations: UInt64
    public var memory: UInt64

    /// Argon2id's passes: the numbers that `opslimit` accepts.
    public static let operationsRange: ClosedRange<UInt64> = 1...64
    /// The memory that `memlimit` accepts: from libsodium's least to 1 GiB.
    public static let memoryRange: ClosedRange<UInt64> = 8_192...1 << 30

    public init(operations: UInt64, memory: UInt64) {
      self.operations = operations
      self.memory = memory
    }
  }

  /// What happens to a weak choice. The raw values are the indices of the words in OptionTable.
  public enum Weak: Int, Sendable {
    case refuse, warn, allow
  }
}

/// Some users, by ranges of their uids: `1000-59999,70000` or `1000-`.
///
/// - Root is in none: a text that names uid 0 is not taken.                                    FleetTests
public struct UserRanges: Equatable, Sendable {
  /// Ranges that a text can have.
  public static let most = 16
  /// The highest number of a user; the one above it means "nobody" to the kernel.
  private static let highest = UInt64(UInt32.max) - 1

  /// As it was written: it is read again each time, which takes less code than a list.
  private let text: Bytes

  /// - Returns: nil unless each range is a uid, two with `-` between them, or one with `-` after it; all of them from 1
  ///   to 4,294,967,294.
  public init?(_ text: ArraySlice<UInt8>) {
    var count = 0
    let isSound = text.allParts(between: UInt8(ascii: ",")) {
      count += 1
      return count <= UserRanges.most && UserRanges.range($0) != nil
    }
    guard isSound else { return nil }
    self.text = Bytes(text)
  }

  private init(written text: Bytes) {
    self.text = text
  }

  static var people: UserRanges { UserRanges(written: Bytes(text: "1000-")) }

  /// Whether the ranges contain a user id.
  public func contain(_ uid: UInt32) -> Bool {
    !text[...].allParts(between: UInt8(ascii: ",")) {
      guard let range = UserRanges.range($0) else { return true }
      return !range.contains(UInt64(uid))
    }
  }

  @inline(never)
  private static func range(_ part: ArraySlice<UInt8>) -> ClosedRange<UInt64>? {
    let dash = part.firstIndex(of: UInt8(ascii: "-"))
    guard let first = decimal(part[..<(dash ?? part.endIndex)]), first >= 1 else { return nil }
    var last = first
    if let dash {
      let end = part[(dash + 1)...]
      guard let number = end.isEmpty ? highest : decimal(end) else { return nil }
      last = number
    }
    return last <= highest && first <= last ? first...last : nil
  }
}
