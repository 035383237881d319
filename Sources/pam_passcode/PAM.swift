internal import CPAM
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// libpam's handle, for one call into the module: items, one prompt, notices, log.
@safe struct PAM {
  private let handle: OpaquePointer
  /// The program shows no notices.
  let isSilent: Bool

  init(_ handle: OpaquePointer, isSilent: Bool) {
    unsafe self.handle = handle
    self.isSilent = isSilent
  }

  struct Item {
    fileprivate let number: CInt

    static var service: Item { Item(number: PAM_SERVICE) }
    static var user: Item { Item(number: PAM_USER) }
    static var terminal: Item { Item(number: PAM_TTY) }
    static var display: Item { Item(number: PAM_XDISPLAY) }
    static var remoteHost: Item { Item(number: PAM_RHOST) }
    static var requester: Item { Item(number: PAM_RUSER) }
  }

  /// Empty: not set. The corresponding C function is `pam_get_item`.
  @inline(never)
  func item(_ item: Item) -> Bytes {
    var value: UnsafeRawPointer?
    guard unsafe pam_get_item(handle, item.number, &value) == PAM_SUCCESS, let value = unsafe value else {
      return []
    }
    // SAFETY: these items are NUL-terminated strings that libpam owns; the bytes are copied at once.
    return unsafe bytes(value.assumingMemoryBound(to: CChar.self))
  }

  /// Whose login this is; libpam asks for the name where the program gave none (`pam_get_user`).
  func user() throws(PAMResult) -> Bytes {
    var name: UnsafePointer<CChar>?
    let code = unsafe pam_get_user(handle, &name, nil)
    guard code == PAM_SUCCESS, let name = unsafe name else {
      throw code == PAM_CONV_ERR || code == PAM_INCOMPLETE ? .cancelled : .unknownUser
    }
    return unsafe bytes(name)
  }

  /// What a prompt came to.
  enum Prompted {
    case typed
    /// More than `TypedLine.longest` bytes; the line is empty.
    case tooLong
    /// The conversation failed, was cancelled, or gave no answer.
    case cancelled
  }

  /// Asks once, without showing what is typed; the program's copy of the answer is wiped and freed.
  func ask(_ prompt: Bytes, _ line: inout TypedLine) -> Prompted {
    guard let answer = unsafe converse(PAM_PROMPT_ECHO_OFF, prompt) else { return .cancelled }
    defer { unsafe cpam_free_answer(answer) }
    guard let text = unsafe answer.pointee.resp else { return .cancelled }
    // SAFETY: the application allocated a NUL-terminated string, and gave it away (pam_conv(3)).
    return unsafe line.take(text) ? .typed : .tooLong
  }

  /// Copies PAM_AUTHTOK, what an earlier module asked for; false: there is none, or it is too long.
  func takeToken(_ line: inout TypedLine) -> Bool {
    var value: UnsafeRawPointer?
    guard unsafe pam_get_item(handle, PAM_AUTHTOK, &value) == PAM_SUCCESS, let value = unsafe value else {
      return false
    }
    // SAFETY: PAM_AUTHTOK is a NUL-terminated string that libpam owns.
    return unsafe line.take(value.assumingMemoryBound(to: CChar.self))
  }

  /// Leaves the line as PAM_AUTHTOK for the next module.
  func setToken(_ line: inout TypedLine) {
    _ = unsafe line.lend { text in unsafe pam_set_item(handle, PAM_AUTHTOK, text) }
  }

  func clearToken() {
    unsafe pam_set_item(handle, PAM_AUTHTOK, nil)
  }

  /// Tells the person something; silent where the program asked for silence.
  func tell(_ text: Text) {
    guard !isSilent, let answer = unsafe converse(PAM_TEXT_INFO, text.bytes) else { return }
    unsafe cpam_free_answer(answer)
  }

  @inline(never)
  private func converse(_ style: CInt, _ text: Bytes) -> UnsafeMutablePointer<pam_response>? {
    unsafe cpam_converse(handle, style, withNUL(text))
  }

  /// How long PAM waits before it tells the program that the login failed (`pam_fail_delay`).
  func delayFailure(seconds: UInt64) {
    unsafe pam_fail_delay(handle, UInt32(seconds * 1_000_000))  // at most 60 s: the table says so
  }

  // MARK: The only state that outlives a call

  enum Note {
    /// The account has to log in by other means first, if it hasn't yet.
    case waitsForLogin
    /// The account may log in here: if it does, whatever its means, its touches are counted from 0 again.
    case mayLogIn
    /// The passcode was refused until the password is proven, for `takeProof`; PAM_USER says whose.
    case wantsProof
    /// The account has logged in by other means, and the mark for that could not be set.
    case isUnmarked

    @inline(never)
    fileprivate var name: Bytes {
      switch self {
      case .waitsForLogin: Bytes(text: "pam_passcode\0")
      case .mayLogIn: Bytes(text: "pam_passcode login\0")
      case .wantsProof: Bytes(text: "pam_passcode proof\0")
      case .isUnmarked: Bytes(text: "pam_passcode mark\0")
      }
    }
  }

  /// Keeps in this handle whose account it is, or that it is nobody's any longer (`pam_set_data`).
  @inline(never)
  func note(_ note: Note, _ uid: UInt32?) {
    guard uid != noted(note) else { return }
    unsafe cpam_note(handle, note.name, uid.map { Int($0) + 1 } ?? 0)
  }

  /// The uid in a note that an earlier call left in the handle. The corresponding C function is `pam_get_data`.
  @inline(never)
  func noted(_ note: Note) -> UInt32? {
    let number = unsafe cpam_noted(handle, note.name)
    return number > 0 ? UInt32(truncatingIfNeeded: number - 1) : nil
  }

  /// Facility authpriv. The corresponding C function is `pam_syslog`.
  @inline(never)
  func log(_ line: Bytes, isError: Bool = false) {
    unsafe cpam_syslog(handle, isError ? LOG_ERR : LOG_NOTICE, withNUL(line))
  }
}

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
