internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// The line `auth optional pam_passcode.so proven`, behind the modules that let people in: once the password was typed, it
// ends a pause, and the waits of `first_login=deny`, `password_every` and `finger_for`. It asks for nothing, and decides
// nothing.
//
// MUST (proof):
//  1  For this line, only the account's password ends a pause, or the wait for another login with `first_login=deny`: it
//     has /etc/pam.d/passcode check it once more. A fingerprint, a key, a program's word or a passcode is no proof.
//     test_pause.py
//  2  The password is checked only where this module has refused the passcode in the same handle for one of these reasons,
//     or not offered the finger because of `finger_for`, and another module has let the person in: nobody's typing error
//     is counted twice, there or at a directory.                                 test_pause.py, test_finger_prompt.py
//  3  The line's result is PAM_IGNORE, whatever happens.                                      test_pause.py
//  4  Anyone may pause their own passcode. A pause ends only by this proof, by `passcode resume` with the password, by
//     setting another passcode with the password, or by root.                                 test_pause.py

extension Authentication {
  /// One call of that line. The password goes to the helper, or to root's tool, which decides.
  func takeProof() -> PAMResult {
    if pam.noted(.wantsProof) != nil, case .found(let account) = Account.named(pam.item(.user)),
      let sodium = Sodium(), var secrets = Secrets(sodium), pam.takeToken(&secrets.password.line)
    {
      pam.note(.wantsProof, nil)
      // The answer goes to the log: nothing here depends on it.
      let program = ProcessIdentity.current().effective == 0 ? Installed.Program.tool : .helper
      _ = try? Helper.ask(.resume, account.uid, by: secrets.password, program)
    }
    return .ignored
  }
}
