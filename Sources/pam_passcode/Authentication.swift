internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One call of pam_sm_authenticate: at most one prompt, one attempt, one answer.
struct Authentication {
  private let pam: PAM
  private let arguments: [Bytes]
  private let process: ProcessIdentity

  init(_ pam: PAM, _ arguments: [Bytes]) {
    self.pam = pam
    self.arguments = arguments
    // Since polkit 127 its helper is root's, and serves whoever connects; its PAM_RUSER is the account itself.
    process = .current(peers: pam.item(.service, is: "polkit-1"))
  }

  func result() -> Result {
    var door = Options().door
    var user: Bytes?
    switch outcome(&door, &user) {
    case .refusal(let verdict): return answer(verdict, door, user: user, wasTyped: false)
    case .attempt(let verdict): return answer(verdict, door, user: user, wasTyped: true)
    case .other(let result):
      if result == .unknownUser { delayFailure(door) }
      return result
    }
  }

  private enum Outcome {
    /// Without a prompt.
    case refusal(Verdict)
    /// Of a passcode that was typed.
    case attempt(Verdict)
    /// Nothing to log and nothing to say.
    case other(Result)
  }

  private func outcome(_ door: inout Options.Door, _ user: inout Bytes?) -> Outcome {
    do throws(Fault) {
      let configuration = try load()
      door = configuration.options.door
      switch pam.user() {
      case .refused(let result): return .other(result)
      case .named(let name):
        user = name
        return try outcome(name, configuration)
      }
    } catch {
      return .refusal(.unavailable(error))
    }
  }

  private func load() throws(Fault) -> Configuration {
    // There a password proves who may set a passcode: a passcode is no proof.
    if pam.item(.service, is: PasswordService.name) {
      throw Fault(
        .configuration, "\(PasswordService.path) proves passwords: take pam_passcode's line out of it")
    }
    let line: ModuleLine
    do throws(OptionError) { line = try ModuleLine(arguments) } catch { throw error.fault }
    return try Configuration.load(line, process)
  }

  /// Whose passcode, and whether it may be used by this caller from here.
  private func outcome(_ user: Bytes, _ configuration: Configuration) throws(Fault) -> Outcome {
    if configuration.options.door.remote == .deny, isRemote { return .refusal(.notPermitted(.remote)) }
    switch Account.named(user) {
    // Or glibc couldn't read /etc/passwd, which it tells like this, too: nothing that `nullok` may ignore.
    case .unknown: return .other(.unknownUser)
    case .failed(let error): throw Fault(.account, "the account can't be looked up: \(error.text)")
    case .found(let account):
      guard let permit = Permit.check(account, process, requester: pam.item(.requester)) else {
        return .refusal(.notPermitted(.otherAccount))
      }
      return try outcome(permit, user, configuration)
    }
  }

  /// sshd says so by PAM_RHOST, and before it knows the host by its PAM_TTY.
  private var isRemote: Bool {
    if let host = pam.item(.remoteHost), !host.isEmpty { return true }
    return pam.item(.terminal, is: "ssh")
  }

  private func outcome(
    _ permit: Permit, _ user: Bytes, _ configuration: Configuration
  ) throws(Fault) -> Outcome {
    let door = configuration.options.door
    if door.firstLogin == .deny {
      pam.note(waitingForLogin: permit.account.uid)
      let mark = LoginMark(permit.account, configuration.access)
      if configuration.access != .helper, !mark.isSet { return .refusal(.notPermitted(.firstLogin)) }
    }
    guard let sodium = Sodium(), var secrets = Secrets(sodium) else {
      throw Fault(.memory, "no memory for a passcode")
    }
    if configuration.access == .helper { return outcomeByHelper(permit, configuration, user, &secrets) }
    let vault = Vault(configuration, sodium) { pam.log(.error, $0) }
    var login = try Login(vault, permit, service: pam.item(.service) ?? [])
    if let refusal = login.look(&secrets) { return .refusal(refusal) }
    if let result = ask(user, door, &secrets) { return .other(result) }
    return .attempt(login.attempt(&secrets))
  }

  /// For hosts without root.
  private func outcomeByHelper(
    _ permit: Permit, _ configuration: Configuration, _ user: Bytes, _ secrets: inout Secrets
  ) -> Outcome {
    let door = configuration.options.door
    let conditions = HelperRequest.Conditions(
      wantsLogin: door.firstLogin == .deny, isSecondFactor: configuration.isSecondFactor)
    var login = HelperLogin(permit, conditions, service: pam.item(.service) ?? [])
    if let refusal = login.look(secrets) { return .refusal(refusal) }
    if let result = ask(user, door, &secrets) { return .other(result) }
    return .attempt(login.attempt(secrets))
  }

  /// The one prompt; what was typed goes into the secrets' field `code`.
  ///
  /// - Returns: nil for a passcode; else what to answer.
  private func ask(_ user: Bytes, _ door: Options.Door, _ secrets: inout Secrets) -> Result? {
    defer { secrets.wipe(.line) }
    if takeFirstPass(door, &secrets) { return nil }
    if door.useFirstPass { return .notAPasscode(door) }
    guard pam.ask(prompt(door), &secrets) else { return .cancelled }
    guard case .named(let name) = pam.user(), name == user else {
      pam.log(.notice, line("the user changed while the passcode was typed", user, door).text)
      return .failed
    }
    switch secrets.read(.line, { Answer($0) }) {
    case .passcode:
      secrets.copy(.line, to: .code)
      return nil
    case .empty: return .notAPasscode(door)
    case .other:
      // One field for both: the next module finds the password there, and doesn't ask again.
      if door.either { pam.setToken(&secrets) }
      return .notAPasscode(door)
    }
  }

  private func prompt(_ door: Options.Door) -> Bytes {
    let isUsual = door.prompt.spells(Options.Door.usualPrompt)
    return Text("\(door.either && isUsual ? Words.eitherPrompt : Text(door.prompt)) ").bytes
  }

  /// What an earlier module asked for, if it is a passcode: it then doesn't stay there.
  private func takeFirstPass(_ door: Options.Door, _ secrets: inout Secrets) -> Bool {
    guard door.tryFirstPass || door.useFirstPass, pam.takeToken(&secrets) else { return false }
    guard secrets.read(.line, { Answer($0) }) == .passcode else { return false }
    secrets.copy(.line, to: .code)
    pam.clearToken()
    return true
  }

  /// Renders a verdict: the log, the notice, the delay, the result.
  private func answer(_ verdict: Verdict, _ door: Options.Door, user: Bytes?, wasTyped: Bool) -> Result {
    if isWorthLogging(verdict) || door.debug { log(verdict, user, door) }
    if !door.quiet, let notice = Words.notice(verdict, when: SystemClock.localMoment) { pam.tell(notice) }
    let result = Result(verdict, door, wasTyped: wasTyped)
    if result != .success && result != .ignored { delayFailure(door) }
    return result
  }

  /// After a refusal without a prompt, too: kscreenlocker takes an answer within 50 ms for a broken service. libpam
  /// waits only where the whole stack fails.
  private func delayFailure(_ door: Options.Door) {
    if door.failDelay > 0 { pam.delayFailure(seconds: door.failDelay) }
  }

  /// Most people have no passcode: that isn't news.
  private func isWorthLogging(_ verdict: Verdict) -> Bool {
    switch verdict {
    case .notEnrolled: false
    case .granted, .wrong, .locked, .exhausted, .disabled, .notPermitted, .unavailable: true
    }
  }

  private func log(_ verdict: Verdict, _ user: Bytes?, _ door: Options.Door) {
    var line = line(verdict.event, user ?? [], door)
    switch verdict {
    case .wrong(.open(let left), let failures):
      line.add("failures", UInt64(failures))
      line.add("attempts_left", UInt64(left))
    case .wrong(.locked(let milliseconds), let failures), .locked(let milliseconds, let failures):
      line.add("failures", UInt64(failures))
      line.add("seconds_left", wholeSeconds(milliseconds))
    case .wrong(.exhausted, let failures), .exhausted(let failures): line.add("failures", UInt64(failures))
    case .unavailable(let fault): line.add("cause", sentence: fault.text)
    case .granted(let earlier): add(earlier, to: &line)
    case .disabled, .notEnrolled, .notPermitted: break
    }
    pam.log(isExpected(verdict) ? .notice : .error, line.text)
  }

  private func add(_ earlier: FailedAttempts, to line: inout LogLine) {
    guard earlier.count > 0 else { return }
    line.add("failures", UInt64(earlier.count))
    if earlier.time > 0 { line.add("last_failure", SystemClock.rfc3339(earlier.time)) }
    line.add("last_service", earlier.service)
  }

  private func isExpected(_ verdict: Verdict) -> Bool {
    if case .unavailable = verdict { return false }
    return true
  }

  private func line(_ event: String, _ user: Bytes, _ door: Options.Door) -> LogLine {
    var line = LogLine(event: event)
    line.add("user", user)
    line.add("service", pam.item(.service))
    line.add("ruid", UInt64(process.real))
    line.add("tty", pam.item(.terminal))
    line.add("rhost", pam.item(.remoteHost))
    line.add("ruser", pam.item(.requester))
    return line
  }
}
