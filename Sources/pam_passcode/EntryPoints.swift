internal import CPAM
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// What libpam calls. Each begins as a refusal; Authentication.swift decides nothing either, it asks the Vault.
//
// `@c` gives a function its C name in a debugger, too. Swift 6.2 doesn't know it.

/// The corresponding manual page is pam_sm_authenticate(3).
#if compiler(>=6.3)
  @c(pam_sm_authenticate)
#else
  @_cdecl("pam_sm_authenticate")
#endif
public func authenticate(
  _ handle: OpaquePointer?, _ flags: CInt, _ count: CInt,
  _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> CInt {
  guard let handle = unsafe handle else { return PAM_SYSTEM_ERR }
  // SAFETY: libpam lends the handle and `count` NUL-terminated arguments for this call.
  let pam = unsafe PAM(handle, isSilent: flags & CInt(bitPattern: PAM_SILENT) != 0)
  return unsafe Authentication(pam, list(count, arguments)).result().code
}

/// There are no credentials to set; a program that sets them has let somebody in, which may reset the touch count. The
/// corresponding manual page is pam_sm_setcred(3).
#if compiler(>=6.3)
  @c(pam_sm_setcred)
#else
  @_cdecl("pam_sm_setcred")
#endif
public func setCredentials(
  _ handle: OpaquePointer?, _ flags: CInt, _ count: CInt,
  _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> CInt {
  // SAFETY: libpam lends the handle for this call.
  if let handle = unsafe handle, flags & CInt(bitPattern: PAM_DELETE_CRED) == 0 {
    unsafe resetTouches(PAM(handle, isSilent: true))
  }
  return PAM_SUCCESS
}

/// Always succeeds; may set the mark that `first_login=deny` waits for, and reset the touch count. The corresponding
/// manual page is pam_sm_open_session(3).
#if compiler(>=6.3)
  @c(pam_sm_open_session)
#else
  @_cdecl("pam_sm_open_session")
#endif
public func openSession(
  _ handle: OpaquePointer?, _ flags: CInt, _ count: CInt,
  _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> CInt {
  // SAFETY: libpam lends the handle for this call.
  if let handle = unsafe handle {
    let pam = unsafe PAM(handle, isSilent: true)
    markLogin(pam)
    resetTouches(pam)
  }
  return PAM_SUCCESS
}

/// There is nothing to close, but perhaps a mark that could not be set before. The corresponding manual page is
/// pam_sm_close_session(3).
#if compiler(>=6.3)
  @c(pam_sm_close_session)
#else
  @_cdecl("pam_sm_close_session")
#endif
public func closeSession(
  _ handle: OpaquePointer?, _ flags: CInt, _ count: CInt,
  _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> CInt {
  // SAFETY: libpam lends the handle for this call.
  if let handle = unsafe handle { unsafe markLoginAgain(PAM(handle, isSilent: true)) }
  return PAM_SUCCESS
}

private func list(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [Bytes] {
  guard let arguments = unsafe arguments else { return [] }
  var list: [Bytes] = []
  for index in 0..<Int(max(0, count)) {
    guard let argument = unsafe arguments[index] else { continue }
    list.append(unsafe bytes(argument))
  }
  return list
}
