internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode remove` of an account that was deleted, for root: by its name, or by the number that `list` shows. While
/// its passcode is there no new key can be made, and an account that gets both its name and its number would inherit
/// the passcode.
///
/// - Returns: nil: there is such an account, or the caller isn't root.
func removeDeleted(_ session: Session) throws(Failure) -> ExitStatus? {
  guard session.process.effective == 0, let name = session.operands.first, Account.named(name) == .unknown
  else { return nil }
  let vault = try session.vault()
  vault.forgetDeletedLogins()
  var removed = false
  for account in try reporting({ () throws(Fault) in try vault.deletedAccounts(name) }) {
    let isNews = try reporting { () throws(Fault) in
      try vault.removeDeleted(account, then: { session.note(.removed, account) })
    }
    guard isNews else { continue }
    removed = true
    session.say(.removed, account)
  }
  guard removed else { throw .noDeletedAccount(name) }
  return .done
}
