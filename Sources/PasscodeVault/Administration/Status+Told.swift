public import PasscodePolicy
public import PasscodeSystem

extension Status {
  /// What the helper told of an account.
  public init(_ account: Account, _ told: HelperStatus) {
    let until = SystemClock.wallSeconds() + wholeSeconds(told.milliseconds)
    self.init(account: account, told: told, lockedUntil: told.state == .locked ? until : nil)
  }

  public var state: HelperStatus.State { told.state }
  public var isEnrolled: Bool { told.isEnrolled }
  /// Digits; nil where not enrolled, or where it can't be opened (no key, another key).
  public var length: Int? { told.length }
  /// Consecutive failures.
  public var failures: UInt32 { told.failures }
  /// Wall clock, seconds since 1970; nil: never.
  public var enrolledAt: UInt64? { told.enrolledAt == 0 ? nil : told.enrolledAt }
  public var lastSuccess: UInt64? { told.lastSuccess == 0 ? nil : told.lastSuccess }
  public var lastFailure: UInt64? { told.lastFailure == 0 ? nil : told.lastFailure }
  /// The PAM service of the last failure; empty: not known.
  public var failureService: Bytes { told.failureService }
  /// Whether the passcode must be changed, now or after its one login.
  public var mustChange: Bool { told.mustChange }
  /// When it expires or expired: wall clock, seconds since 1970; nil: never.
  public var expiresAt: UInt64? { told.expiresAt == 0 ? nil : told.expiresAt }
  /// Too many touches in a row didn't match; only `Vault.status` asks for it.
  public var isFingerOff: Bool { told.isFingerOff }
}
