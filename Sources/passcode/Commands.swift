internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// What the table of commands runs where the store is reached directly; `Direct` has those about one account.

func runEnroll(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session, "enroll").enroll() }
func runChange(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session, "enroll").change() }
func runRemove(_ session: Session) throws(Failure) -> ExitStatus {
  if let status = try removeDeleted(session) { return status }
  return try Direct(session, "remove").remove()
}
func runUnlock(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session, "unlock").unlock() }
func runDisable(_ session: Session) throws(Failure) -> ExitStatus {
  try Direct(session, "disable").disable(true)
}
func runEnable(_ session: Session) throws(Failure) -> ExitStatus {
  try Direct(session, "enable").disable(false)
}
func runPause(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session, nil).pause(true) }
func runResume(_ session: Session) throws(Failure) -> ExitStatus { try Direct(session, nil).pause(false) }
func runStatus(_ session: Session) throws(Failure) -> ExitStatus {
  if let fleet = try FleetAccount(session) { return try fleet.showStatus() }
  return try Direct(session, "status").status()
}

/// Of anybody's passcode: whether it may be tried is the attempt's question.
func runVerify(_ session: Session) throws(Failure) -> ExitStatus {
  if let fleet = try FleetAccount(session) { return try fleet.verify() }
  let vault = try session.vault()
  var secrets = try newSecrets()
  let account = try session.account()
  let verdict = try verify(.passcode, account, session, vault, &secrets).verdict
  if verdict.isGranted { session.say(.right) }
  return tell(verdict, account)
}
