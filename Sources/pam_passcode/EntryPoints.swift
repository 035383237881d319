internal import CPAM
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// What libpam calls. Nothing is decided here, nor in Authentication.swift, which asks the Vault.
//
// `@c` gives a function its C name in a debugger, too. Swift 6.2 doesn't know it.

/// A module line's arguments, as C has them.
public typealias Arguments = UnsafeMutablePointer<UnsafePointer<CChar>?>?

/// The corresponding manual page is pam_sm_authenticate(3).
#if compiler(>=6.3)
  @c(pam_sm_authenticate)
#else
  @_cdecl("pam_sm_authenticate")
#endif
public func authenticate(_ handle: OpaquePointer?, _ flags: CInt, _ argc: CInt, _ argv: Arguments) -> CInt {
  guard let handle = unsafe handle else { return PAM_SYSTEM_ERR }
  // SAFETY: libpam lends the handle and `argc` NUL-terminated arguments for this call.
  let pam = unsafe PAM(handle, isSilent: flags & CInt(bitPattern: PAM_SILENT) != 0)
  return unsafe Authentication(pam, list(argc, argv)).result().code
}

/// There are no credentials to set; a program that sets them has let somebody in, which may reset the touch count. The
/// corresponding manual page is pam_sm_setcred(3).
#if compiler(>=6.3)
  @c(pam_sm_setcred)
#else
  @_cdecl("pam_sm_setcred")
#endif
public func setCredentials(_ handle: OpaquePointer?, _ flags: CInt, _ argc: CInt, _ argv: Arguments) -> CInt {
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
public func openSession(_ handle: OpaquePointer?, _ flags: CInt, _ argc: CInt, _ argv: Arguments) -> CInt {
  // SAFETY: libpam lends the handle for this call.
  if let handle = unsafe handle {
    let pam = unsafe PAM(handle, isSilent: true)
    markLogin(pam)
    resetTouches(pam)
  }
  return PAM_SUCCESS
}

/// There is nothing to close, but perhaps a mark that could not be set before (pam_sm_close_session(3)).
#if compiler(>=6.3)
  @c(pam_sm_close_session)
#else
  @_cdecl("pam_sm_close_session")
#endif
public func closeSession(_ handle: OpaquePointer?, _ flags: CInt, _ argc: CInt, _ argv: Arguments) -> CInt {
  // SAFETY: libpam lends the handle for this call.
  if let handle = unsafe handle { unsafe markLoginAgain(PAM(handle, isSilent: true)) }
  return PAM_SUCCESS
}

private func list(_ count: CInt, _ arguments: Arguments) -> [Bytes] {
  guard let arguments = unsafe arguments else { return [] }
  return (0..<Int(max(0, count))).compactMap { index in unsafe arguments[index].map { unsafe bytes($0) } }
}

/// Sets the account's mark, if this session is the login that it waits for: our `authenticate` refused the account in this
/// handle, something else let it in, and nobody asked on another's behalf (su and sudo say so by PAM_RUSER).
func markLogin(_ pam: PAM) {
  guard let uid = pam.noted(.waitsForLogin), ProcessIdentity.current().effective == 0,
    pam.item(.requester).isEmpty, isAccount(pam.item(.user), uid)
  else { return }
  do throws(Errno) {
    try LoginMark(uid, .root).set()
  } catch {
    pam.log(Bytes(text: "the login could not be marked: ") + error.text, isError: true)
    pam.note(.isUnmarked, uid)
  }
}

/// Sets the mark that could not be set when this session was opened: there may be space by now.
func markLoginAgain(_ pam: PAM) {
  guard let uid = pam.noted(.isUnmarked), ProcessIdentity.current().effective == 0 else { return }
  try? LoginMark(uid, .root).set()
}

/// Resets the touch count: our own `authenticate` admitted the account in this handle, and the program goes on to a
/// session, so that something has let it in. PAM_USER may be another by now: sudo's target, who asked is then in
/// PAM_RUSER. Where neither is that account, somebody else was let in with this handle.
@inline(never)
func resetTouches(_ pam: PAM) {
  guard let uid = pam.noted(.mayLogIn), ProcessIdentity.current().effective == 0,
    isAccount(pam.item(.user), uid) || isAccount(pam.item(.requester), uid)
  else { return }
  TouchCounter(uid: uid, .root).clear()
}

private func isAccount(_ name: Bytes, _ uid: UInt32) -> Bool {
  guard !name.isEmpty, case .found(let account) = Account.named(name) else { return false }
  return account.uid == uid
}
