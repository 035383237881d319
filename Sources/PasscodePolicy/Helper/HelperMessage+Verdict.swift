// Verdicts on their way from the helper to its caller.

extension HelperReply {
  public init(verdict: Verdict) {
    switch verdict {
    case .granted(let earlier):
      self.init(.granted, [UInt64(earlier.count), earlier.time], text: earlier.service)
    case .wrong(.open(let left), let failures): self.init(.wrong, [UInt64(failures), UInt64(left)])
    case .wrong(.locked(let milliseconds), let failures):
      self.init(.wrongAndLocked, [UInt64(failures), milliseconds])
    case .wrong(.exhausted, let failures): self.init(.wrongAndExhausted, [UInt64(failures)])
    case .locked(let milliseconds, let failures): self.init(.locked, [UInt64(failures), milliseconds])
    case .exhausted(let failures): self.init(.exhausted, [UInt64(failures)])
    case .disabled: self.init(.disabled)
    case .expired: self.init(.expired)
    case .mustChange: self.init(.mustChange)
    case .notEnrolled: self.init(.notEnrolled)
    case .notPermitted(let reason): self.init(Kind(rawValue: reason.rawValue) ?? .notPermitted)
    case .unavailable(let fault): self.init(fault: fault)
    // The helper has nothing to do with fingers.
    case .fingerGranted, .fingerRefused: self.init(.notPermitted)
    }
  }

  /// The verdict that it carries; nil where it is another answer, or none that makes sense.
  ///
  /// `granted` is repeated here, not decided: the helper said it, after the match of an attempt that it charged.
  public var verdict: Verdict? {
    if kind == .granted { return granted }
    let (first, second) = (number(0), number(1))
    // No schedule has longer delays: nothing that is computed from it can overflow. Attempts left, in its place, fit.
    guard first <= UInt64(UInt32.max), second <= Schedule.longestDelay * 1_000 else { return nil }
    let failures = UInt32(first)
    if let reason = NotPermitted(rawValue: bytes[1]) { return .notPermitted(reason) }  // the kind's number
    switch kind {
    case .wrong: return .wrong(.open(attemptsLeft: UInt32(second)), failures: failures)
    case .wrongAndLocked: return .wrong(.locked(milliseconds: second), failures: failures)
    case .wrongAndExhausted: return .wrong(.exhausted, failures: failures)
    case .locked: return .locked(milliseconds: second, failures: failures)
    case .exhausted: return .exhausted(failures: failures)
    case .disabled: return .disabled
    case .expired: return .expired
    case .mustChange: return .mustChange
    case .notEnrolled: return .notEnrolled
    case .unavailable: return fault.map { .unavailable($0) }
    case .granted, .notPermitted, .notAdministrators, .beforeLogin, .stationLocked, .paused, .passwordDue,
      .fingerNeeded, .openWaiting, .openEnding, .status, .statusWithTerms, .done, .wrongPassword, .closed,
      .refused, .passwordIsDigits, .noCode:
      return nil
    }
  }

  private var granted: Verdict? {
    guard number(0) <= UInt64(UInt32.max), Record.serviceName(text) == text else { return nil }
    return .granted(FailedAttempts(count: UInt32(number(0)), time: number(1), service: text))
  }

  /// What the log says of an enrolment by a one-time code.
  public var codeEvent: Literal? {
    if kind == .done { return "passcode enrolled by a one-time code" }
    if kind == .noCode { return "one-time code refused: none is valid" }
    if case .wrong? = verdict { return "one-time code wrong" }
    return verdict?.event
  }
}
