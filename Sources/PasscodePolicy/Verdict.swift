/// The one answer to a question about a passcode. Every door renders it; none decides again.
public enum Verdict: Equatable, Sendable {
  /// A completed match of a charged attempt. Made in exactly one line, in PasscodeVault.
  case granted
  /// A completed mismatch, and what the ledger says after it; `failures` counts the row of them.
  case wrong(Standing, failures: UInt32)
  /// Too many failures; milliseconds until the next attempt is allowed.
  case locked(milliseconds: UInt64, failures: UInt32)
  /// The schedule came to `reset`: unlock it.
  case exhausted(failures: UInt32)
  /// Suspended by an administrator.
  case disabled
  case notEnrolled
  case notPermitted(NotPermitted)
  /// It could not be decided; nothing was verified, or verification could not be completed.
  case unavailable(Fault)
}

extension Verdict {
  /// The verdict as the log names it.
  public var event: String {
    switch self {
    case .granted: "passcode granted"
    case .wrong: "passcode wrong"
    case .locked: "passcode locked"
    case .exhausted: "passcode exhausted"
    case .disabled: "passcode disabled"
    case .notEnrolled: "passcode not enrolled"
    case .notPermitted(.otherAccount): "passcode not permitted: another person's account"
    case .notPermitted(.remote): "passcode not permitted: remote login"
    case .notPermitted(.firstLogin): "passcode not permitted: before this boot's first login"
    case .unavailable: "passcode unavailable"
    }
  }
}

/// Why this caller can't use this passcode here, however well it is typed.
public enum NotPermitted: Equatable, Sendable {
  /// It is somebody else's account, and the caller isn't root.
  case otherAccount
  /// The login comes from another machine.
  case remote
  /// Nobody has logged in to the account by other means since the machine started.
  case firstLogin
}

/// Something that must be mended before passcodes work: what, where, and what to do.
public struct Fault: Error, Equatable, Sendable {
  public enum Kind: Equatable, Sendable {
    case configuration, store, key, record, account, busy, memory, clock, helper
  }

  public let kind: Kind
  /// One line for the log or for stderr. Never contains what was typed.
  public let text: Bytes

  @inline(never)
  public init(_ kind: Kind, _ text: Text) {
    self.kind = kind
    self.text = text.bytes
  }
}
