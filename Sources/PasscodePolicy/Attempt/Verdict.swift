/// The one answer to a question about a passcode. Every program renders it; none decides again.
public enum Verdict: Equatable, Sendable {
  /// A completed match of a charged attempt, and what failed before it. Made in exactly one line, in PasscodeVault.
  case granted(FailedAttempts = .none)
  /// A touch matched, and counted under the record's lock. Made in exactly one line, in PasscodeVault.
  case fingerGranted
  /// Enter without a match that counts. It is no failure of the passcode's.
  case fingerRefused(FingerOutcome)
  /// A completed mismatch, and what the ledger says after it; `failures` counts the row of them.
  case wrong(Standing, failures: UInt32)
  /// Too many failures; milliseconds until the next attempt is allowed.
  case locked(milliseconds: UInt64, failures: UInt32)
  /// The schedule came to `reset`: unlock it.
  case exhausted(failures: UInt32)
  /// Disabled by an administrator.
  case disabled
  /// The passcode was given out with `--expires`, and that time is over.
  case expired
  /// It was given out with `--must-change`, and has opened its one login: the owner must choose another passcode.
  case mustChange
  case notEnrolled
  case notPermitted(NotPermitted)
  /// No decision was possible: nothing was verified, or verification could not be completed.
  case unavailable(Fault)
}

/// Wrong passcodes in a row, just before a correct one: its owner should hear of those that somebody else typed. Shared,
/// not copied: a verdict is two words.
public final class FailedAttempts: Sendable {
  public let count: UInt32
  /// When the last one was: seconds since 1970 by the wall clock; 0: not known.
  public let time: UInt64
  /// The PAM service of the last one, as `Record.serviceName` makes it; may be empty.
  public let service: Bytes

  public static let none = FailedAttempts(count: 0, time: 0, service: [])

  public init(count: UInt32, time: UInt64, service: Bytes) {
    self.count = count
    self.time = time
    self.service = service
  }
}

extension Verdict {
  public var isGranted: Bool {
    switch self {
    case .granted, .fingerGranted: true
    case .fingerRefused, .wrong, .locked, .exhausted, .disabled, .expired, .mustChange, .notEnrolled,
      .notPermitted, .unavailable:
      false
    }
  }

  /// Whether it is a refusal that a proof of the password ends.
  @inline(never)
  public var endsByPassword: Bool {
    guard case .notPermitted(let reason) = self else { return false }
    return reason == .firstLogin || reason == .paused || reason == .passwordDue
  }

  /// What the reader came to, where that decided.
  @inline(never)
  public var finger: FingerOutcome? {
    if case .fingerRefused(let outcome) = self { return outcome }
    if case .fingerGranted = self { return .matched }
    return nil
  }

  /// The log's name for the verdict.
  public var event: Literal {
    switch self {
    case .granted: "passcode granted"
    case .fingerGranted: "finger granted"
    case .fingerRefused: "finger refused"
    case .wrong: "passcode wrong"
    case .locked: "passcode locked"
    case .exhausted: "passcode exhausted"
    case .disabled: "passcode is disabled"
    case .expired: "passcode expired"
    case .mustChange: "passcode must be changed"
    case .notEnrolled: "passcode not enrolled"
    case .notPermitted(.otherAccount): "passcode not permitted: another person's account"
    case .notPermitted(.remote): "passcode not permitted: remote login"
    case .notPermitted(.firstLogin): "passcode not permitted: before this boot's first login"
    case .notPermitted(.notAdministrators): "passcode not permitted: an administrator must set it anew"
    case .notPermitted(.workstation): "passcode locked on this workstation"
    case .notPermitted(.paused): "passcode paused"
    case .notPermitted(.passwordDue): "passcode not permitted: the password is due"
    case .notPermitted(.fingerNeeded): "passcode not permitted: without a matching finger"
    case .unavailable: "passcode unavailable"
    }
  }
}

/// Why this caller can't use this passcode here, however well it is typed. The raw values are those of `HelperReply.Kind`.
public enum NotPermitted: UInt8, Sendable {
  /// The login comes from another machine. It has no kind of its own: a reply says `notPermitted`.
  case remote = 0
  /// The account is somebody else's, and the caller isn't root.
  case otherAccount = 9
  /// Nobody has logged in to the account by other means since the machine started.
  case firstLogin = 10
  /// It is to be a second factor, and somebody could have set or unlocked it with the password alone.
  case notAdministrators = 12
  /// Too many wrong passcodes were typed on this workstation of a fleet, for this account or others.
  case workstation = 28
  /// The passcode was paused by its owner or by root, and the password has not been proven since.
  case paused = 29
  /// The password has not been proven within `password_every`, or since the machine started.
  case passwordDue = 30
  /// With `finger=both`: no touch that matched came with it, or none could be asked for here.
  case fingerNeeded = 31
}

/// What somebody typed at the prompt.
public enum Answer: Equatable, Sendable {
  /// 4 or 6 ASCII digits: an attempt, whatever length is enrolled (skipping the other length would tell
  /// which one it is) and whatever lengths are configured (those govern the choosing of new ones).
  case passcode
  /// Just Enter: "something else, please".
  case empty
  /// Anything else: a password, a slip, somebody's 10,000 bytes.
  case other

  /// - Parameter bytes: what was typed, without a newline; any length.
  public init(_ bytes: Span<UInt8>) {
    if bytes.count == 0 {
      self = .empty
    } else {
      let areDigits = bytes.indices.allSatisfy { isDigit(bytes[$0]) }
      self = areDigits && Answer.isLength(bytes.count) ? .passcode : .other
    }
  }

  /// Whether a passcode can have so many digits.
  public static func isLength(_ count: Int) -> Bool {
    count == 4 || count == 6
  }
}

/// A one-time code of a fleet: 8 letters, each drawn uniformly from 24. Its rules are in KeptCode.swift.   OneTimeCodeTests
public enum OneTimeCode {
  public static let length = 8
  /// No I and no O, which look like 1 and 0.
  public static var letters: Bytes { Bytes(text: "ABCDEFGHJKLMNPQRSTUVWXYZ") }

  /// Whether these are the bytes of a one-time code, as they are hashed.
  public static func isCode(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count == length else { return false }
    let letters = letters
    for index in bytes.indices where !letters.contains(bytes[index]) { return false }
    return true
  }
}
