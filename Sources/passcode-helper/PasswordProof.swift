internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// The account's password, proven by PAM with a service of our own: `PasswordService`, which holds pam_unix alone.
/// What the system's other services accept (a finger, a key, this very passcode) is no proof here.
///
/// MUST be run while the real uid is still the caller's: pam_unix's own helper answers only for that.
/// Tests: test_selfservice.py.
struct PasswordProof {
  private let account: Account

  init(_ account: Account) {
    self.account = account
  }

  /// - Parameter password: answers the first hidden question, and there must be no second one; wiped afterwards.
  /// - Throws: as `PasswordService.check`.
  func succeeds(_ password: inout Password) throws(Fault) -> Bool {
    defer { password.line.wipe() }
    try PasswordService.check()
    let asked = Counter()
    let outcome = PAMClient.authenticate(
      service: Bytes(text: PasswordService.name), user: account.name, directory: PasswordService.folder,
      &password.line
    ) { message, _, _ in
      guard message == .hidden else { return true }
      asked.count += 1
      return asked.count == 1
    }
    // A stack that grants without having asked proves nothing.
    return outcome.isSuccess && asked.count == 1
  }

  private final class Counter {
    var count = 0
  }
}
