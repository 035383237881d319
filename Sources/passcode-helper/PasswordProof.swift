internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// The account's password, proven by PAM with a service of our own: /etc/pam.d/passcode, which holds pam_unix
/// alone. What the system's other services accept (a finger, a key, this very passcode) is no proof here.
///
/// MUST be run while the real uid is still the caller's: pam_unix's own helper answers only for that.
struct PasswordProof {
  static let folder = Bytes(text: "/etc/pam.d")
  static let service = Bytes(text: "passcode")

  private let account: Account

  init(_ account: Account) {
    self.account = account
  }

  /// - Parameter password: in the field `line`; it answers the first hidden question, and there must be no
  ///   second one.
  /// - Throws: a fault if the service file is missing: libpam would take `other` instead.
  func succeeds(_ password: consuming Secrets) throws(Fault) -> Bool {
    try Configuration.checkServiceFile(Text("\(PasswordProof.folder)/\(PasswordProof.service)").bytes)
    let asked = Counter()
    let outcome = PAMClient.authenticate(
      service: PasswordProof.service, user: account.name, directory: PasswordProof.folder, password
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
