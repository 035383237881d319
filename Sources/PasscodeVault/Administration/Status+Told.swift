public import PasscodePolicy
public import PasscodeSystem

extension Status {
  /// What the helper told of an account.
  public init(_ account: Account, _ told: HelperStatus) {
    let until = SystemClock.wallSeconds() + wholeSeconds(told.milliseconds)
    self.init(
      account: account, isEnrolled: told.isEnrolled, length: told.length, state: State(told),
      failures: told.failures, lockedUntil: told.state == .locked ? until : nil,
      enrolledAt: told.enrolledAt == 0 ? nil : told.enrolledAt,
      lastSuccess: told.lastSuccess == 0 ? nil : told.lastSuccess,
      lastFailure: told.lastFailure == 0 ? nil : told.lastFailure, failureService: told.failureService,
      mustChange: told.mustChange, expiresAt: told.expiresAt == 0 ? nil : told.expiresAt,
      isFingerOff: told.isFingerOff)
  }
}

extension Status.State {
  fileprivate init(_ told: HelperStatus) {
    switch told.state {
    case .ok: self = .ok
    case .locked: self = .locked(milliseconds: told.milliseconds)
    case .exhausted: self = .exhausted
    case .disabled: self = .disabled
    case .corrupt: self = .corrupt
    case .expired: self = .expired
    case .mustChange: self = .mustChange
    case .paused: self = .paused
    }
  }
}
