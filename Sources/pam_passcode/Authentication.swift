internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One call of pam_sm_authenticate: at most one prompt, one attempt, one answer.
struct Authentication {
  private let pam: PAM
  private let arguments: [Bytes]
  private let origin: LoginOrigin

  init(_ pam: PAM, _ arguments: [Bytes]) {
    self.pam = pam
    self.arguments = arguments
    origin = LoginOrigin(
      LoginItems(
        service: pam.item(.service), requester: pam.item(.requester), remoteHost: pam.item(.remoteHost),
        terminal: pam.item(.terminal), display: pam.item(.display)))
  }

  func result() -> PAMResult {
    var door = Options().door
    var user: Bytes?
    do throws(Interruption) {
      return answer(try ending(&door, &user), door, user: user)
    } catch {
      if error.result == .unknownUser { delayFailure(door) }
      return error.result
    }
  }

  /// An end without a verdict: nothing to log and nothing to say.
  private struct Interruption: Error {
    let result: PAMResult
  }

  private struct Ending {
    let verdict: Verdict
    /// A passcode was typed.
    let wasTyped: Bool

    init(_ verdict: Verdict, wasTyped: Bool = false) {
      self.verdict = verdict
      self.wasTyped = wasTyped
    }
  }

  private func ending(_ door: inout Options.Door, _ user: inout Bytes?) throws(Interruption) -> Ending {
    let configuration: Configuration
    do throws(Fault) { configuration = try load() } catch { return Ending(.unavailable(error)) }
    door = configuration.options.door
    switch pam.user() {
    case .refused(let result): throw Interruption(result: result)
    case .named(let name):
      user = name
      return try ending(name, configuration)
    }
  }

  private func load() throws(Fault) -> Configuration {
    // There a password proves who may set a passcode: a passcode is no proof.
    if origin.service.spells(PasswordService.name) {
      throw Fault(.inPasswordService, path: PasswordService.path)
    }
    return try Configuration.load(ModuleLine(arguments), origin.process)
  }

  private func ending(_ user: Bytes, _ configuration: Configuration) throws(Interruption) -> Ending {
    let rules = LoginRules(configuration.options.door)
    let admission: Gate.Admission
    do throws(Fault) {
      admission = try Gate.admit(user: user, origin, rules, configuration.access)
    } catch {
      return Ending(.unavailable(error))
    }
    if rules.wantsLogin, let account = admission.account { pam.note(waitingForLogin: account.uid) }
    switch admission {
    case .unknownUser: throw Interruption(result: .unknownUser)
    case .refused(let reason, _): return Ending(.notPermitted(reason))
    case .admitted(let permit): return try ending(permit, user, configuration)
    }
  }

  /// By the store, or by the helper where this process can't reach that.
  private func ending(
    _ permit: Permit, _ user: Bytes, _ configuration: Configuration
  ) throws(Interruption) -> Ending {
    guard let sodium = Sodium(), var secrets = Secrets(sodium) else {
      return Ending(.unavailable(Fault(.noMemory)))
    }
    let door = configuration.options.door
    if configuration.access == .helper {
      let conditions = HelperRequest.Conditions(
        wantsLogin: door.firstLogin == .deny, isSecondFactor: configuration.isSecondFactor)
      return try ending(HelperLogin(permit, conditions, service: origin.service), user, door, &secrets)
    }
    let login: DirectLogin
    do throws(Fault) {
      let vault = Vault(configuration, sodium) { pam.log(.error, $0.logLine) }
      login = try DirectLogin.open(vault, permit, service: origin.service)
    } catch {
      return Ending(.unavailable(error))
    }
    return try ending(login, user, door, &secrets)
  }

  private func ending<Way: Login & ~Copyable>(
    _ login: consuming Way, _ user: Bytes, _ door: Options.Door, _ secrets: inout Secrets
  ) throws(Interruption) -> Ending {
    var login = login
    var wasTyped = false
    let verdict = try login.run(&secrets.passcode, &secrets.unsealed) { passcode throws(Interruption) in
      if let result = ask(user, door, &secrets.line, &passcode) { throw Interruption(result: result) }
      wasTyped = true
    }
    return Ending(verdict, wasTyped: wasTyped)
  }

  /// The one prompt.
  ///
  /// - Returns: nil for a passcode; else what to answer.
  private func ask(
    _ user: Bytes, _ door: Options.Door, _ line: inout TypedLine, _ passcode: inout Passcode
  ) -> PAMResult? {
    defer { line.wipe() }
    if takeFirstPass(door, &line, &passcode) { return nil }
    if door.useFirstPass { return .notAPasscode(door) }
    let prompted = pam.ask(prompt(door), &line)
    if prompted == .cancelled { return .cancelled }
    guard case .named(let name) = pam.user(), name == user else {
      pam.log(.notice, logLine("the user changed while the passcode was typed", user, door).text)
      return .failed
    }
    // No module gets a part of an answer: the next one asks for itself.
    if prompted == .tooLong { return .notAPasscode(door) }
    switch passcode.take(line) {
    case .passcode: return nil
    case .empty: return .notAPasscode(door)
    case .other:
      // One prompt for both: the next module finds the password there, and doesn't ask again.
      if door.either { pam.setToken(&line) }
      return .notAPasscode(door)
    }
  }

  private func prompt(_ door: Options.Door) -> Bytes {
    let isUsual = door.prompt.spells(Options.Door.usualPrompt)
    return Text("\(door.either && isUsual ? Words.eitherPrompt : Text(door.prompt)) ").bytes
  }

  /// What an earlier module asked for, if it is a passcode: it then doesn't stay there.
  private func takeFirstPass(
    _ door: Options.Door, _ line: inout TypedLine, _ passcode: inout Passcode
  ) -> Bool {
    guard door.tryFirstPass || door.useFirstPass, pam.takeToken(&line), passcode.take(line) == .passcode
    else { return false }
    pam.clearToken()
    return true
  }

  /// Renders a verdict: the log, the notice, the delay, the result.
  private func answer(_ ending: Ending, _ door: Options.Door, user: Bytes?) -> PAMResult {
    let verdict = ending.verdict
    if isWorthLogging(verdict) || door.debug { log(verdict, user, door) }
    if !door.quiet, let notice = verdict.notice { pam.tell(notice) }
    let result = PAMResult(verdict, door, wasTyped: ending.wasTyped)
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
    case .granted, .wrong, .locked, .exhausted, .disabled, .expired, .mustChange, .notPermitted,
      .unavailable:
      true
    }
  }

  private func log(_ verdict: Verdict, _ user: Bytes?, _ door: Options.Door) {
    var line = logLine(verdict.event, user ?? [], door)
    switch verdict {
    case .wrong(.open(let left), let failures):
      line.add("failures", UInt64(failures))
      line.add("attempts_left", UInt64(left))
    case .wrong(.locked(let milliseconds), let failures), .locked(let milliseconds, let failures):
      line.add("failures", UInt64(failures))
      line.add("seconds_left", wholeSeconds(milliseconds))
    case .wrong(.exhausted, let failures), .exhausted(let failures): line.add("failures", UInt64(failures))
    case .unavailable(let fault): line.add("cause", sentence: fault.loginText.bytes)
    case .granted(let earlier): add(earlier, to: &line)
    case .disabled, .expired, .mustChange, .notEnrolled, .notPermitted: break
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

  private func logLine(_ event: String, _ user: Bytes, _ door: Options.Door) -> LogLine {
    var line = LogLine(event: event)
    line.add("user", user)
    line.add("service", origin.service)
    line.add("ruid", UInt64(origin.process.real))
    line.add("tty", pam.item(.terminal))
    line.add("rhost", pam.item(.remoteHost))
    line.add("ruser", pam.item(.requester))
    return line
  }
}
