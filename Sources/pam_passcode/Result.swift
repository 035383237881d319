internal import CPAM
internal import PasscodePolicy

/// What the module answers PAM with.
enum Result: Equatable {
  case success
  case failed
  case unknownUser
  case ignored
  case notPermitted
  case cancelled
  case unavailable
  case misconfigured

  /// The one place where a verdict becomes PAM's. Locked is never PAM_MAXTRIES (GDM would spin on it), and
  /// PAM_IGNORE is only for `nullok` (anything else was CVE-2025-23013).
  init(_ verdict: Verdict, nullok: Bool) {
    switch verdict {
    case .granted: self = .success
    case .wrong, .locked, .exhausted, .disabled: self = .failed
    case .notEnrolled: self = nullok ? .ignored : .unknownUser
    case .notPermitted: self = .notPermitted
    case .unavailable(let fault): self = fault.kind == .configuration ? .misconfigured : .unavailable
    }
  }

  var code: CInt {
    switch self {
    case .success: PAM_SUCCESS
    case .failed: PAM_AUTH_ERR
    case .unknownUser: PAM_USER_UNKNOWN
    case .ignored: PAM_IGNORE
    case .notPermitted: PAM_PERM_DENIED
    case .cancelled: PAM_CONV_ERR
    case .unavailable: PAM_AUTHINFO_UNAVAIL
    case .misconfigured: PAM_SERVICE_ERR
    }
  }
}
