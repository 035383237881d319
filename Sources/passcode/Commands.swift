internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// What each command does: asks what it must, calls one function of the Vault, says how it went.

func runEnroll(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  return try enroll(account, session, vault, session.asker)
}

func enroll(
  _ account: Account, _ session: Session, _ vault: Vault, _ asker: Asker
) throws(Failure) -> ExitStatus {
  // Without a key or a store nobody needs to choose a passcode first.
  try reporting { () throws(Fault) in try vault.checkReadiness() }
  var secrets = try session.secrets(vault)
  let new = try NewPasscode(session, vault, account, asker)
  if session.generates { try generate(new, &secrets) } else { try new.choose(&secrets) }
  try store(account, &secrets, vault, onlyFor: nil) { session.note("passcode enrolled", account) }
  if session.generates {
    try show(secrets)
  } else {
    session.say("Passcode set for \(printable(account.name)).")
  }
  return .done
}

func runChange(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  return try change(account, session, vault, session.asker)
}

func change(
  _ account: Account, _ session: Session, _ vault: Vault, _ asker: Asker
) throws(Failure) -> ExitStatus {
  if session.isForced && vault.configuration.access != .root {
    throw Failure(.notPermitted, "only root can leave the old passcode out")
  }
  var secrets = try session.secrets(vault)
  guard try reporting({ () throws(Fault) in try vault.status(account) }).isEnrolled else {
    throw notEnrolled(account)
  }
  var mark: Bytes?
  if !session.isForced {
    let verdict = try verify("Old passcode: ", account, session, vault, asker, &secrets, &mark)
    guard verdict == .granted else { return tell(verdict) }
    secrets.copy(.code, to: .old)
  }
  try NewPasscode(session, vault, account, asker).choose(&secrets)
  try store(account, &secrets, vault, onlyFor: mark) { session.note("passcode changed", account) }
  session.say("Passcode changed for \(printable(account.name)).")
  return .done
}

func runVerify(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  var secrets = try session.secrets(vault)
  var mark: Bytes?
  let verdict = try verify(
    "Passcode: ", try session.account(), session, vault, session.asker, &secrets, &mark)
  if verdict == .granted { session.say("Right.") }
  return tell(verdict)
}

/// One attempt, the question included.
///
/// - Parameter mark: tells which credential was proven.
private func verify(
  _ question: Text, _ account: Account, _ session: Session, _ vault: Vault, _ asker: Asker,
  _ secrets: inout Secrets, _ mark: inout Bytes?
) throws(Failure) -> Verdict {
  guard let permit = Permit.check(account, session.process, requester: nil) else {
    return .notPermitted(.otherAccount)
  }
  var login = try reporting { () throws(Fault) in try Login(vault, permit) }
  if let refusal = login.look(&secrets) { return refusal }
  guard try asker.askPasscode(question, &secrets) == .passcode else {
    throw Failure(.refused, "a passcode is 4 or 6 digits; nothing was counted")
  }
  let verdict = login.attempt(&secrets)
  mark = login.provenMark
  return verdict
}

/// Says on stderr why it isn't granted.
func tell(_ verdict: Verdict) -> ExitStatus {
  let text: Text
  switch verdict {
  case .granted: return .done
  case .wrong, .locked, .exhausted, .disabled: text = Words.notice(verdict) ?? ""
  case .notEnrolled: text = "no passcode is set"
  case .notPermitted: text = "another person's passcode: only they themselves and root can try it"
  case .unavailable(let fault): text = Text(fault.text)
  }
  complain(text)
  return ExitStatus(verdict)
}

func runRemove(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  let removed = try reporting { () throws(Fault) in
    try vault.remove(account) { session.note("passcode removed", account) }
  }
  guard removed else { throw notEnrolled(account) }
  session.say("Passcode removed for \(printable(account.name)).")
  return .done
}

func runUnlock(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  let unlocked = try reporting { () throws(Fault) in
    try vault.unlock(account) { session.note("passcode unlocked", account) }
  }
  switch unlocked {
  case nil: throw notEnrolled(account)
  case true?: session.say("Passcode unlocked for \(printable(account.name)).")
  case false?: session.say("No failures to forget for \(printable(account.name)).")
  }
  return .done
}

func runDisable(_ session: Session) throws(Failure) -> ExitStatus {
  try suspend(true, session)
}

func runEnable(_ session: Session) throws(Failure) -> ExitStatus {
  try suspend(false, session)
}

private func suspend(_ suspended: Bool, _ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  let state: Text = suspended ? "suspended" : "enabled"
  let changed = try reporting { () throws(Fault) in
    try vault.suspend(account, suspended) { session.note("passcode \(state)", account) }
  }
  guard let changed else { throw notEnrolled(account) }
  let already: Text = "already "
  session.say("Passcode \(changed ? "" : already)\(state) for \(printable(account.name)).")
  return .done
}

func runKey(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let path = printable(vault.configuration.options.policy.keyFile)
  guard let action = session.operands.first else { return .usage }
  if action.spells("init") {
    try reporting { () throws(Fault) in try vault.createKey() }
    session.say("\(path): made. Back it up where the store is not: without it no passcode opens.")
    return .done
  }
  guard action.spells("status") else {
    throw Failure(.usage, "usage: passcode key init|status; see passcode key --help")
  }
  try reporting { () throws(Fault) in try vault.checkKey() }
  session.say("\(path): in order.")
  return .done
}

// MARK: -

private func store(
  _ account: Account, _ secrets: inout Secrets, _ vault: Vault, onlyFor mark: Bytes?,
  _ done: @escaping () -> Void
) throws(Failure) {
  do throws(Fault) {
    try vault.enroll(account, &secrets, replacing: mark, then: done)
  } catch {
    throw Failure(error)
  }
}

private func generate(_ new: NewPasscode, _ secrets: inout Secrets) throws(Failure) {
  guard let sodium = Sodium() else { throw Failure(.unusable, "libsodium could not be initialised") }
  try new.generate(&secrets, sodium)
}

/// Prints a generated passcode: the one secret that leaves.
func show(_ secrets: borrowing Secrets) throws(Failure) {
  let digits = secrets.read(.code) { code in code.indices.map { code[$0] } }
  guard Stream.output.write("\(digits)\n") else {
    throw Failure(.unusable, "a passcode was set, but standard output can't be written: enroll again")
  }
}

func notEnrolled(_ account: Account) -> Failure {
  Failure(.notEnrolled, "no passcode is set for \(printable(account.name))")
}
