internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// A person's own passcode, without root: each command is one question to the helper, or two.
///
/// What proves it is asked here and decided there: the password by the service file /etc/pam.d/passcode, the
/// old passcode by an attempt that counts like any other.
final class SelfService {
  let session: Session
  let account: Account
  let configuration: Configuration
  private let sodium: Sodium

  /// nil: this process reaches the store directly.
  init?(_ session: Session) throws(Failure) {
    let configuration = try session.configuration()
    guard configuration.access == .helper else { return nil }
    sodium = try startSodium()
    self.session = session
    self.configuration = configuration
    account = try session.account()
  }

  func run(_ command: (SelfService) -> () throws(Failure) -> ExitStatus) throws(Failure) -> ExitStatus {
    guard account.uid == session.process.real else { throw .otherPerson }
    return try command(self)()
  }

  // MARK: The commands

  func enroll() throws(Failure) -> ExitStatus {
    try session.checkOptions(configuration.access)
    _ = try openStatus(needsPassword: !isFleets)
    var secrets = try newSecrets()
    return isFleets ? try enrollByCode(&secrets) : try enroll(&secrets)
  }

  /// In a fleet a password of this machine proves nothing.
  private func enrollByCode(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    defer { secrets.line.wipe() }
    guard try session.asker.askLine(Question.oneTimeCode.text, &secrets.line),
      secrets.passcode.takeCode(secrets.line)
    else { throw .notCode }
    let new = try session.choice(vault(), account)
    try new.choose(&secrets.line, &secrets.change, generates: session.generates)
    let reply = try reporting { () throws(Fault) in
      try Helper.enroll(account.uid, secrets.change.new, byCode: secrets.passcode)
    }
    if let verdict = reply.verdict, reply.kind != .unavailable {
      if case .wrong = verdict { throw .wrongCode }
      return tell(verdict, account)
    }
    try done(reply)
    return try session.announce(secrets.change.new, account)
  }

  // With the secrets of its caller, as below: see `Direct`.
  private func enroll(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    try askPassword(.password, &secrets.password)
    let new = try session.choice(vault(), account)
    try new.choose(&secrets.line, &secrets.change, generates: session.generates)
    try done(
      reporting { () throws(Fault) in
        try Helper.enroll(account.uid, secrets.change.new, by: secrets.password)
      })
    return try session.announce(secrets.change.new, account)
  }

  func change() throws(Failure) -> ExitStatus {
    try session.checkOptions(configuration.access)
    guard try openStatus(needsPassword: needsFinger).isEnrolled else { throw .notEnrolled(account.name) }
    var secrets = try newSecrets()
    return needsFinger ? try enroll(&secrets) : try change(&secrets)
  }

  /// With `finger=both` the passcode alone proves nothing: the password does.
  private var needsFinger: Bool { configuration.options.policy.needsFinger }

  private func change(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    let verdict = try verify(.oldPasscode, &secrets)
    guard verdict.isGranted else {
      let status = tell(verdict, account)
      if status == .locked, canForget, !verdict.isOfPause { complain(.forgotten) }
      return status
    }
    secrets.change.old.passcode.copy(secrets.passcode)
    try session.choice(vault(), account)
      .choose(&secrets.line, &secrets.change, generates: session.generates)
    let reply = try reporting { () throws(Fault) in try Helper.change(account.uid, secrets.change) }
    return try finish(reply, .changed)
  }

  /// By the passcode or by the password: what isn't 4 or 6 digits is a password, and so is everything once
  /// the passcode is locked.
  func remove() throws(Failure) -> ExitStatus {
    try checkPlace("remove")
    let status = try openStatus(needsPassword: false)
    guard status.isEnrolled else { throw .notEnrolled(account.name) }
    let takesPassword = configuration.options.policy.allowsSelfEnroll
    let takesPasscode = status.state == .ok && !needsFinger
    let question: Question =
      takesPasscode ? (takesPassword ? .passcodeOrPassword : .passcode) : .password
    guard takesPasscode || takesPassword else { throw .selfServiceClosed }
    var secrets = try newSecrets()
    try askPassword(question, &secrets.password)
    let isPasscode = takesPasscode && secrets.passcode.take(secrets.password.line) == .passcode
    guard isPasscode || takesPassword else { throw .noAttempt }
    let reply = try reporting { () throws(Fault) in
      if isPasscode { return try Helper.remove(account.uid, by: secrets.passcode) }
      return try Helper.ask(.remove, account.uid, by: secrets.password)
    }
    return try finish(reply, .removed)
  }

  func unlock() throws(Failure) -> ExitStatus {
    try checkPlace("unlock")
    guard try openStatus(needsPassword: true).isEnrolled else { throw .notEnrolled(account.name) }
    var secrets = try newSecrets()
    try askPassword(.password, &secrets.password)
    let reply = try reporting { () throws(Fault) in
      try Helper.ask(.unlock, account.uid, by: secrets.password)
    }
    try done(reply)
    session.say(.unlocked, account, already: reply.number(0) != 1)
    return .done
  }

  /// Takes no secret: anyone may make their own passcode stricter.
  func pause() throws(Failure) -> ExitStatus {
    if configuration.options.policy.secondFactor { throw .endlessPause }
    let reply = try reporting { () throws(Fault) in try Helper.pause(account.uid) }
    try done(reply)
    session.say(.paused, account, already: reply.number(0) != 1)
    if configuration.options.policy.asksVerifier(account.uid) { session.say(.onlyHere) }
    return .done
  }

  func resume() throws(Failure) -> ExitStatus {
    guard try status().state == .paused else {
      session.say(.resumed, account, already: true)
      return .done
    }
    var secrets = try newSecrets()
    try askPassword(.password, &secrets.password)
    try done(
      reporting { () throws(Fault) in try Helper.ask(.resume, account.uid, by: secrets.password) })
    session.say(.resumed, account)
    return .done
  }

  func verify() throws(Failure) -> ExitStatus {
    var secrets = try newSecrets()
    let verdict = try verify(.passcode, &secrets)
    if verdict.isGranted { session.say(.right) }
    return tell(verdict, account)
  }

  func showStatus() throws(Failure) -> ExitStatus {
    try report(try status(), session, store: configuration.options.policy.store)
  }

  // MARK: Questions to the helper

  func status() throws(Failure) -> Status {
    let reply = try reporting { () throws(Fault) in try Helper.status(of: account.uid) }
    if let report = HelperStatus(reply) {
      var status = Status(account, report)
      status.isFleets = isFleets
      return status
    }
    if isFleets, let fault = reply.fault { throw .fleetSilent(account.name, fault) }
    throw failure(reply)
  }

  /// The password proves who they are, and replaces a passcode that is locked, too.
  private var canForget: Bool { !isFleets && configuration.options.policy.allowsSelfEnroll }

  private var isFleets: Bool { configuration.options.policy.asksVerifier(account.uid) }

  /// A password of this machine is no proof for a fleet, whose servers do this as root only.
  private func checkPlace(_ command: Text) throws(Failure) {
    if isFleets { throw .fleets(command, account.name) }
  }

  /// The status, if there is any sense in asking for a secret.
  private func openStatus(needsPassword: Bool) throws(Failure) -> Status {
    let status = try status()
    if status.state == .disabled {
      throw .onlyStatus
    }
    if needsPassword, !configuration.options.policy.allowsSelfEnroll { throw .selfServiceClosed }
    return status
  }

  /// One attempt, the question included.
  private func verify(_ question: Question, _ secrets: inout Secrets) throws(Failure) -> Verdict {
    let permit = try session.permit(account, configuration.access)
    var login = IndirectLogin(
      permit, HelperRequest.Conditions(), service: session.serviceName, question.purpose)
    return try session.run(&login, question, &secrets)
  }

  /// Says that it was done, or what the attempt came to that was to prove it.
  private func finish(_ reply: HelperReply, _ act: Act) throws(Failure) -> ExitStatus {
    if let verdict = reply.verdict, reply.kind != .unavailable { return tell(verdict, account) }
    try done(reply)
    session.say(act, account)
    return .done
  }

  /// - Throws: unless it was done.
  private func done(_ reply: HelperReply) throws(Failure) {
    guard reply.kind == .done else { throw failure(reply) }
  }

  private func failure(_ reply: HelperReply) -> Failure {
    switch reply.kind {
    case .wrongPassword: return .wrongPassword
    case .closed: return .selfServiceClosed
    case .noCode: return .noCode(account.name)
    case .refused: return reply.refusal.map { .refused($0) } ?? .fault(Helper.invalidReply)
    case .passwordIsDigits: return .passwordIsDigits
    case .disabled: return .disabled
    case .notEnrolled: return .notEnrolled(account.name)
    case .notPermitted, .notAdministrators, .beforeLogin, .stationLocked, .paused, .passwordDue,
      .fingerNeeded:
      return .forbidden
    case .unavailable: return .fault(reply.fault ?? Helper.invalidReply)
    case .granted, .wrong, .wrongAndLocked, .wrongAndExhausted, .locked, .exhausted, .expired, .mustChange,
      .openWaiting, .openEnding, .status, .statusWithTerms, .done:
      return .fault(Helper.invalidReply)
    }
  }

  // MARK: Secrets

  private func askPassword(_ question: Question, _ password: inout Password) throws(Failure) {
    guard try session.asker.askLine(question.text, &password.line) else {
      throw .longPassword
    }
    if password.line.count == 0 { throw .cancelled }
  }

  /// For its policy only: this process can't reach the store.
  private func vault() -> Vault {
    Vault(configuration, sodium) { complain($0.noteText) }
  }
}
