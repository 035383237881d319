internal import PasscodePolicy
internal import PasscodeTool

extension ExitStatus {
  /// What a verdict is to a script.
  init(_ verdict: Verdict) {
    switch verdict {
    case .granted, .fingerGranted: self = .done
    case .wrong, .fingerRefused: self = .wrong
    case .locked, .exhausted, .disabled, .expired, .mustChange, .notPermitted(.workstation),
      .notPermitted(.paused), .notPermitted(.passwordDue), .notPermitted(.fingerNeeded):
      self = .locked
    case .notEnrolled: self = .notEnrolled
    case .notPermitted: self = .notPermitted
    case .unavailable: self = .unusable
    }
  }
}
