public import PasscodePolicy

// A status on its way from the helper to its caller: `Status+Told` reverses this, except for `lockedUntil`, which the
// caller computes by its own clock.                                                                 StatusTests

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
