internal import CPAM
internal import PasscodePolicy

/// What the module answers PAM with.
enum PAMResult: Equatable {
  case success
  case failed
  case unknownUser
  case ignored
  case notPermitted
  case notAPasscode
  case cancelled
  case unavailable
  case misconfigured

  /// The one place where a verdict becomes PAM's. Locked is never PAM_MAXTRIES (GDM would spin on it), and
  /// PAM_IGNORE is only for `nullok` (anything else was CVE-2025-23013).
  ///
  /// With `either` a stack can tell a passcode that was typed and refused from all else: it ends the call there
  /// (auth_err=die), so that no module behind us takes the passcode for a password.
  ///
  /// - Parameter wasTyped: whether a passcode was typed, and not only refused before a prompt.
  init(_ verdict: Verdict, _ door: Options.Door, wasTyped: Bool) {
    switch verdict {
    case .granted, .fingerGranted: self = .success
    case .fingerRefused: self = .notAPasscode(door)
    case .unavailable(let fault) where door.either && wasTyped && fault.reason.isOfKey: self = .failed
    case .unavailable(let fault): self = fault.isConfiguration ? .misconfigured : .unavailable
    case .wrong: self = .failed
    case _ where door.either && wasTyped: self = .failed
    case .locked, .exhausted, .disabled, .expired, .mustChange: self = door.either ? .notPermitted : .failed
    case .notEnrolled: self = door.nullok ? .ignored : .unknownUser
    case .notPermitted: self = .notPermitted
    }
  }

  /// The result for something typed that isn't a passcode.
  static func notAPasscode(_ door: Options.Door) -> PAMResult {
    door.either ? .notAPasscode : .failed
  }

  var code: CInt {
    switch self {
    case .success: PAM_SUCCESS
    case .failed: PAM_AUTH_ERR
    case .unknownUser: PAM_USER_UNKNOWN
    case .ignored: PAM_IGNORE
    case .notPermitted: PAM_PERM_DENIED
    case .notAPasscode: PAM_CRED_INSUFFICIENT
    case .cancelled: PAM_CONV_ERR
    case .unavailable: PAM_AUTHINFO_UNAVAIL
    case .misconfigured: PAM_SERVICE_ERR
    }
  }
}
