internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Sets the account's mark, if this session is the login that it waits for: our own `authenticate` refused the
/// account in this handle, something else of the stack let it in, and nobody asked for it on another's behalf
/// (su and sudo say so by PAM_RUSER).
func markLogin(_ pam: PAM) {
  guard let uid = pam.noted(.waitsForLogin), ProcessIdentity.current().effective == 0,
    pam.item(.requester).isEmpty,
    case .named(let user) = pam.user(), case .found(let account) = Account.named(user), account.uid == uid
  else { return }
  do throws(Errno) {
    try LoginMark(uid, .root).set()
  } catch {
    let complaint: Text = "the login could not be marked: \(error.text)"
    pam.log(.error, complaint.bytes)
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
