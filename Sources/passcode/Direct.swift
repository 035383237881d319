internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// An account's passcode, for those who reach the store: root anyone's, a person with a store of their own the own
/// one. Each command asks what it must, calls one function of the Vault, and says how it went.
final class Direct {
  let session: Session
  let vault: Vault
  let account: Account

  /// - Parameter command: what does the same on a fleet's server; nil: it concerns this machine alone.
  /// - Throws: also if a fleet's servers keep the passcode: then no record of this machine is asked or changed.
  init(_ session: Session, _ command: Text?) throws(Failure) {
    self.session = session
    vault = try session.vault()
    account = try session.account()
    if let command, vault.configuration.options.policy.asksVerifier(account.uid) {
      throw .fleets(command, account.name)
    }
    guard vault.configuration.access == .root || account.uid == session.process.real else {
      throw .otherPerson
    }
  }

  func enroll() throws(Failure) -> ExitStatus {
    // Nothing is forced here: who reaches the store proves no password that could be refused.
    try session.checkOptions(vault.configuration.access)
    try confirmRoot()
    // Without a key or a store nobody needs to choose a passcode first.
    try reporting { () throws(Fault) in try vault.checkReadiness() }
    var secrets = try newSecrets()
    return try enroll(&secrets)
  }

  /// Commands that are pasted as root mean somebody else, more often than not.
  private func confirmRoot() throws(Failure) {
    guard vault.configuration.access == .root, session.operands.isEmpty, !session.isTrial else { return }
    guard case .terminal = session.asker, standardInputIsTerminal(), Stream.error.isTerminal else {
      throw .needsName
    }
    Stream.error.write(.confirmRoot)
    var secrets = try newSecrets()
    guard secrets.line.readFromInput() == .line, secrets.line.read({ Bytes($0).spells("yes") }) else {
      throw .cancelled
    }
  }

  // With the secrets of its caller, as below: of a variable Swift 6.2 lends no two parts at once.
  private func enroll(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    let new = try session.choice(vault, account)
    try new.choose(&secrets.line, &secrets.change, generates: session.generates)
    try store(secrets.change, &secrets.unsealed, by: .direct, .enrolled)
    let status = try session.announce(secrets.change.new, account)
    if !session.isQuiet, let now = try? vault.status(account), now.state == .disabled {
      complain(Status.disabled(account.name))
    }
    if !session.isQuiet, vault.policy.passwordEvery > 0 || vault.policy.needsFinger, account.lacksPassword {
      complain(Status.withoutPassword(account.name))
    }
    return status
  }

  func change() throws(Failure) -> ExitStatus {
    try session.checkOptions(vault.configuration.access)
    var secrets = try newSecrets()
    guard try reporting({ () throws(Fault) in try vault.status(account) }).isEnrolled else {
      throw .notEnrolled(account.name)
    }
    return try change(&secrets)
  }

  private func change(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    var authority = Authority.direct
    if !session.has(.force) {
      let (verdict, mark) = try verify(.oldPasscode, account, session, vault, &secrets)
      guard verdict.isGranted, let mark else { return tell(verdict, account) }
      authority = .passcode(mark)
      secrets.change.old.passcode.copy(secrets.passcode)
    }
    try session.choice(vault, account)
      .choose(&secrets.line, &secrets.change, generates: session.generates)
    try store(secrets.change, &secrets.unsealed, by: authority, .changed)
    session.say(.changed, account)
    return .done
  }

  private func store(
    _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed, by authority: Authority, _ act: Act
  ) throws(Failure) {
    do throws(EnrolmentError) {
      try vault.enroll(
        account, change, &unsealed, by: authority, on: session.terms, then: noting(act))
    } catch {
      throw .enrolment(error)
    }
  }

  /// What puts the act in the system's log, once it is done.
  private func noting(_ act: Act) -> () -> Void {
    { [self] in session.note(act, account) }
  }

  func remove() throws(Failure) -> ExitStatus {
    let removed = try reporting { () throws(Fault) in
      try vault.remove(account, then: noting(.removed))
    }
    guard removed else { throw .notEnrolled(account.name) }
    session.say(.removed, account)
    return .done
  }

  func unlock() throws(Failure) -> ExitStatus {
    let unlocked = try reporting { () throws(Fault) in
      try vault.unlock(account, by: .direct, then: noting(.unlocked))
    }
    guard let unlocked else { throw .notEnrolled(account.name) }
    session.say(.unlocked, account, already: !unlocked)
    return .done
  }

  func disable(_ disabled: Bool) throws(Failure) -> ExitStatus {
    let act = disabled ? Act.disabled : .enabled
    let changed = try reporting { () throws(Fault) in
      try vault.disable(account, disabled, then: noting(act))
    }
    guard let changed else { throw .notEnrolled(account.name) }
    session.say(act, account, already: !changed)
    return .done
  }

  /// - Throws: where the password wouldn't end a pause: with `second_factor`, or without a password.
  func pause(_ paused: Bool) throws(Failure) -> ExitStatus {
    if paused {
      if vault.configuration.options.policy.secondFactor { throw .endlessPause }
      if session.mayNotPause(account, vault) { throw .noPassword(account.name) }
    }
    let act = paused ? Act.paused : .resumed
    let changed = try reporting { () throws(Fault) in
      try paused
        ? vault.pauseAtOnce(account, then: noting(act)) : vault.pause(account, false, then: noting(act))
    }
    guard let changed else { throw .notEnrolled(account.name) }
    session.say(act, account, already: !changed)
    if paused, vault.configuration.options.policy.asksVerifier(account.uid) { session.say(.onlyHere) }
    return .done
  }

  func status() throws(Failure) -> ExitStatus {
    let status = try reporting { () throws(Fault) in try vault.status(account) }
    return try report(status, session, store: vault.configuration.options.policy.store)
  }
}

/// One attempt, the question included.
///
/// - Throws: also what made it unavailable.
/// - Returns: the verdict, and which credential was proven (`DirectLogin.provenMark`).
@inline(never)
func verify(
  _ question: Question, _ account: Account, _ session: Session, _ vault: Vault, _ secrets: inout Secrets
) throws(Failure) -> (verdict: Verdict, mark: Bytes?) {
  let permit = try session.permit(account, vault.configuration.access)
  var login = try reporting { () throws(Fault) in
    try DirectLogin.open(vault, permit, service: session.serviceName, question.purpose)
  }
  let verdict = try session.run(&login, question, &secrets)
  if case .unavailable(let fault) = verdict { throw .fault(fault) }
  return (verdict, login.provenMark)
}

/// Prints on standard error why an attempt wasn't granted, and returns the exit status.
func tell(_ verdict: Verdict, _ account: Account) -> ExitStatus {
  if !verdict.isGranted { complain(verdict.isOfPause ? Status.paused(account.name) : verdict.text) }
  return ExitStatus(verdict)
}

extension Verdict {
  /// Only the end of a pause helps.
  var isOfPause: Bool { if case .notPermitted(.paused) = self { true } else { false } }
}
