internal import CPAM
internal import PasscodePolicy
internal import PasscodeVault

/// What the module answers PAM with.
struct PAMResult: Error, Equatable {
  let code: CInt

  static var success: PAMResult { PAMResult(code: PAM_SUCCESS) }
  static var failed: PAMResult { PAMResult(code: PAM_AUTH_ERR) }
  static var unknownUser: PAMResult { PAMResult(code: PAM_USER_UNKNOWN) }
  static var ignored: PAMResult { PAMResult(code: PAM_IGNORE) }
  static var notPermitted: PAMResult { PAMResult(code: PAM_PERM_DENIED) }
  static var notAPasscode: PAMResult { PAMResult(code: PAM_CRED_INSUFFICIENT) }
  static var cancelled: PAMResult { PAMResult(code: PAM_CONV_ERR) }
  static var unavailable: PAMResult { PAMResult(code: PAM_AUTHINFO_UNAVAIL) }
  static var misconfigured: PAMResult { PAMResult(code: PAM_SERVICE_ERR) }
}

extension PAMResult {
  /// The one place where a verdict becomes PAM's. Locked is never PAM_MAXTRIES (GDM would spin on it), and
  /// PAM_IGNORE is only for `nullok` (anything else was CVE-2025-23013).
  ///
  /// With `either` a stack can tell a passcode that was typed and refused from all else: it ends the call there
  /// (auth_err=die), so that no module behind us takes the passcode for a password.
  ///
  /// - Parameter wasTyped: whether a passcode was typed, and not only refused before a prompt.
  init(_ verdict: Verdict, _ configuration: Configuration, wasTyped: Bool) {
    let either = configuration.options.door.either
    switch verdict {
    case .granted, .fingerGranted: self = .success
    case .fingerRefused: self = .notAPasscode(configuration)
    case .unavailable(let fault) where either && wasTyped && fault.reason.isOfKey: self = .failed
    case .unavailable(let fault): self = fault.isConfiguration ? .misconfigured : .unavailable
    case .wrong: self = .failed
    case _ where either && wasTyped: self = .failed
    case .locked, .exhausted, .disabled, .expired, .mustChange: self = either ? .notPermitted : .failed
    case .notEnrolled: self = configuration.options.door.nullok ? .ignored : .unknownUser
    case .notPermitted: self = .notPermitted
    }
  }

  /// The result for something typed that isn't a passcode.
  static func notAPasscode(_ configuration: Configuration) -> PAMResult {
    configuration.options.door.either ? .notAPasscode : .failed
  }
}
