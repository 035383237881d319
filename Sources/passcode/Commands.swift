internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// What the table of commands runs where the store is reached directly; `Direct` has those about one account.

func runEnroll(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).enroll() }
func runChange(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).change() }
func runRemove(_ session: Session) throws(Failure) -> ExitStatus {
  if let deleted = try DeletedAccount(session) { return try deleted.remove() }
  return try Direct(session).remove()
}
func runUnlock(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).unlock() }
func runDisable(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).disable(true) }
func runEnable(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).disable(false) }
func runStatus(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session).status() }

/// Of anybody's passcode: whether it may be tried is the attempt's question.
func runVerify(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  var secrets = try newSecrets()
  let verdict = try verify(.passcode, try session.account(), session, vault, &secrets).verdict
  if verdict.isGranted { session.say(.right) }
  return tell(verdict)
}
