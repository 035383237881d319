public import PasscodePolicy
public import PasscodeSystem

// A status on its way from the helper to its caller: each reverses the other, except for `lockedUntil`, which the
// caller computes by its own clock.
//                                                                                                   StatusTests

extension HelperStatus {
  /// What the helper sends.
  public init(_ status: Status) {
    self.init(
      State(status.state), isEnrolled: status.isEnrolled, length: status.length, failures: status.failures,
      milliseconds: 0)
    if case .locked(let left) = status.state { milliseconds = left }
    enrolledAt = status.enrolledAt ?? 0
    lastSuccess = status.lastSuccess ?? 0
    lastFailure = status.lastFailure ?? 0
    failureService = status.failureService
    mustChange = status.mustChange
    expiresAt = status.expiresAt ?? 0
    isFingerOff = status.isFingerOff
  }
}

extension HelperStatus.State {
  fileprivate init(_ state: Status.State) {
    switch state {
    case .ok: self = .ok
    case .locked: self = .locked
    case .exhausted: self = .exhausted
    case .disabled: self = .disabled
    case .corrupt: self = .corrupt
    case .expired: self = .expired
    case .mustChange: self = .mustChange
    }
  }
}

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
    }
  }
}
