public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

/// What is known of one account's passcode, for administrators and its owner. Nothing in it is secret from root.
public struct Status: Equatable, Sendable {
  public let account: Account
  /// What the helper, or a fleet's server, tells of it.
  public let told: HelperStatus
  /// When the delay ends: wall clock, seconds since 1970; nil: no delay refuses the passcode now.
  public let lockedUntil: UInt64?
  /// A fleet's servers keep the passcode, and have said this.
  public var isFleets = false

  /// - Parameter now: wall clock, seconds since 1970; asked only where there is a delay.
  public init(
    _ account: Account, _ told: HelperStatus, now: @autoclosure () -> UInt64 = SystemClock.wallSeconds()
  ) {
    self.account = account
    self.told = told
    lockedUntil = told.state == .locked ? now() + wholeSeconds(told.milliseconds) : nil
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
  /// Too many touches in a row didn't match; only `Vault.helperStatus` asks for it.
  public var isFingerOff: Bool { told.isFingerOff }
}

extension Vault {
  /// What is known of an account's passcode: for root, or a person's own store.
  public func status(_ account: Account) throws(Fault) -> Status {
    Status(account, try helperStatus(of: account), now: clock.wall())
  }

  /// The status of an account with a passcode.
  package func status(_ account: Account, _ record: Record, length: Int?) throws(Fault) -> Status {
    Status(account, try helperStatus(of: account, record, length: length), now: clock.wall())
  }
}
