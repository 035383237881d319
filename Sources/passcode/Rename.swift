internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode rename OLD NEW`, after `usermod -l NEW OLD`. For root.
func runRename(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  guard vault.configuration.access == .root else { throw .onlyRoot }
  let old = session.operands.removeFirst()
  let account = try session.account()
  switch Account.named(old) {
  case .unknown: break
  case .found: throw .stillThere(old)
  case .failed(let error): throw .fault(Fault(.accountLookup, error: error.code))
  }
  var secrets = try newSecrets()
  let renamed = try reporting { () throws(Fault) in
    try vault.rename(account, from: old, &secrets.unsealed) { session.note(.renamed, account, from: old) }
  }
  guard let renamed else { throw .notEnrolled(old) }
  session.say(.renamed, account, already: !renamed)
  return .done
}
