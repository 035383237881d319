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

func runList(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  var table: Text = ""
  let isColoured = Stream.output.isTerminal && environment("NO_COLOR") == nil
  var isWritten = true
  if !session.wantsJSON { table += Status.heading }
  var everybody = try reporting { () throws(Fault) in try vault.list() }
  while let status = try reporting({ () throws(Fault) in try everybody.next() }) {
    guard status.isAsked(session) else { continue }
    table += session.wantsJSON ? status.json : status.row(isColoured: isColoured)
    if table.bytes.count > 1 << 16 {
      isWritten = isWritten && Stream.output.write(table)
      table.removeAll()
    }
  }
  guard isWritten, Stream.output.write(table) else { throw .unwritable }
  return .done
}

func runKey(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let policy = vault.configuration.options.policy
  guard let action = session.operands.first else { return .usage }
  if action.spells("init") {
    let isNew = try reporting { () throws(Fault) in try vault.createKey() }
    session.say(isNew ? .keyCreated(policy.keyFile) : .storeCreated(policy.store))
    return .done
  }
  guard action.spells("status") else {
    throw .operands("key", .keyAction)
  }
  try reporting { () throws(Fault) in try vault.checkKeyServes() }
  for folder in try reporting({ () throws(Fault) in try vault.sharedFolders() }) {
    complain(Message.sharedFolder(folder).text)
  }
  session.say(.keyWorks(policy.keyFile))
  return .done
}
