internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One call of pam_sm_authenticate: at most one prompt, one attempt, one answer.
struct Authentication {
  let pam: PAM
  private let arguments: [Bytes]
  private let origin: LoginOrigin

  init(_ pam: PAM, _ arguments: [Bytes]) {
    self.pam = pam
    self.arguments = arguments
    origin = LoginOrigin(
      service: pam.item(.service), requester: pam.item(.requester), remoteHost: pam.item(.remoteHost),
      terminal: pam.item(.terminal), display: pam.item(.display))
  }

  func result() -> PAMResult {
    if ModuleLine.notesProof(arguments) { return takeProof() }
    // Of an earlier call, for another account perhaps.
    pam.note(.mayLogIn, nil)
    pam.note(.wantsProof, nil)
    // Until there is one, the defaults decide how an answer is given.
    var configuration = Configuration(options: Options(), access: .helper)
    var user = Bytes()
    do throws(PAMResult) {
      return answer(try begin(&configuration, &user), configuration, user)
    } catch {  // without a verdict: there is nothing to log and nothing to say
      if error == .unknownUser { delayFailure(configuration) }
      return error
    }
  }

  private struct Ending {
    let verdict: Verdict
    /// A passcode was typed.
    var wasTyped = false
    /// What the fingerprint reader came to; nil: it wasn't asked for.
    var finger: FingerOutcome?
  }

  private func begin(
    _ configuration: inout Configuration, _ user: inout Bytes
  ) throws(PAMResult) -> Ending {
    do throws(Fault) { configuration = try load() } catch { return Ending(verdict: .unavailable(error)) }
    user = try pam.user()
    return try admit(user, configuration)
  }

  private func load() throws(Fault) -> Configuration {
    // There a password proves who may set a passcode: a passcode is no proof.
    if origin.service.spells(PasswordService.name) {
      throw Fault(.inPasswordService, path: PasswordService.path)
    }
    return try Configuration.load(ModuleLine(arguments), origin.process)
  }

  private func admit(_ user: Bytes, _ configuration: Configuration) throws(PAMResult) -> Ending {
    let door = configuration.options.door
    let admission: Gate.Admission
    do throws(Fault) {
      admission = try Gate.admit(user: user, origin, door, configuration.access)
    } catch {
      return Ending(verdict: .unavailable(error))
    }
    switch admission {
    case .unknownUser: throw .unknownUser
    case .refused(let reason, let account):
      if !door.allowsFirstLogin, let account { pam.note(.waitsForLogin, account.uid) }
      return Ending(verdict: .notPermitted(reason))
    case .admitted(let permit):
      if !door.allowsFirstLogin { pam.note(.waitsForLogin, permit.account.uid) }
      return try chooseWay(permit, Question(user: user, configuration: configuration))
    }
  }

  /// By the store; by the helper where this process can't reach that; or by a fleet's verifier.
  private func chooseWay(_ permit: Permit, _ question: Question) throws(PAMResult) -> Ending {
    guard let sodium = Sodium(), var secrets = Secrets(sodium) else {
      return Ending(verdict: .unavailable(Fault(.noMemory)))
    }
    let configuration = question.configuration
    question.isFleets = configuration.options.policy.asksVerifier(permit.account.uid)
    if configuration.access == .helper || question.isFleets {
      let conditions = HelperRequest.Conditions(
        wantsLogin: !configuration.options.door.allowsFirstLogin,
        isSecondFactor: configuration.isSecondFactor)
      let login = IndirectLogin(
        permit, conditions, service: origin.service, by: configuration.access == .helper ? .helper : .fleet)
      return try runLogin(login, question, &secrets)
    }
    var login: DirectLogin
    do throws(Fault) {
      let vault = Vault(configuration, sodium) { [pam] in pam.log($0.logLine, isError: true) }
      login = try DirectLogin.open(vault, permit, service: origin.service)
    } catch {
      return Ending(verdict: .unavailable(error))
    }
    pam.note(.mayLogIn, permit.account.uid)
    question.finger = Gate.finger(permit, origin, configuration)
    if question.finger != nil { login.touch = FingerTranscript() }
    return try runLogin(login, question, &secrets)
  }

  private func runLogin<Way: Login & ~Copyable>(
    _ login: consuming Way, _ question: Question, _ secrets: inout Secrets
  ) throws(PAMResult) -> Ending {
    var login = login
    var wasTyped = false
    // The reader is stopped when the prompt has its answer; until the end of this call it may take its time.
    var finger: FingerPrompt?
    let verdict = try login.run(
      &secrets.passcode, &secrets.unsealed, despite: { asks(question, despite: $0) }
    ) { passcode, looked throws(PAMResult) in
      question.note(looked, pam, isForPerson: origin.isForPerson)
      let response = try ask(question, &secrets.line, &passcode, &finger)
      if case .passcode = response { wasTyped = true }
      return response
    }
    var outcome = finger?.transcript.outcome
    if question.isBoth, case .unused? = outcome { outcome = verdict.touch }
    return Ending(verdict: verdict, wasTyped: wasTyped, finger: outcome)
  }

  /// Whether the prompt says why the passcode can't be used, and takes the password.
  @inline(never)
  private func asks(_ question: Question, despite refusal: Verdict) -> Bool {
    // Or the password would come before the prints that it is to accept were seen.
    if refusal.endsByPassword, question.door.fingerFor > 0, let request = question.finger {
      FingerPrompt.hindrance(request)
    }
    guard question.note(refusal, pam, isForPerson: origin.isForPerson) else { return false }
    log(Ending(verdict: refusal), question.user)
    if refusal.endsByPassword { pam.note(.wantsProof, 0) }
    return true
  }

  /// Asks the person once, and puts the answer where it belongs.
  private func ask(
    _ question: Question, _ line: inout TypedLine, _ passcode: inout Passcode, _ finger: inout FingerPrompt?
  ) throws(PAMResult) -> Response {
    defer { line.wipe() }
    let nothing = PAMResult.notAPasscode(question.configuration)
    if takeFirstPass(question, &line, &passcode) { return .passcode }
    if question.door.useFirstPass { throw nothing }
    if let request = question.finger { begin(request, question, &finger) }
    let isOffered = finger?.isOffered ?? false
    if question.isBoth, !isOffered, question.reason == nil,
      !asks(
        question, despite: .notPermitted(finger?.refusal == .printsChanged ? .passwordDue : .fingerNeeded))
    {
      return .finger(finger?.transcript ?? FingerTranscript())
    }
    let prompted = pam.ask(question.prompt(finger: isOffered), &line)
    finger?.stop(atEnter: prompted == .typed && (question.isBoth || line.count == 0))
    if prompted == .cancelled {
      log("prompt cancelled", question, finger?.transcript)
      throw .cancelled
    }
    guard let name = try? pam.user(), name == question.user else {
      pam.log(logLine("the user changed while the passcode was typed", question.user).text)
      throw .failed
    }
    // No module gets a part of an answer that is too long: the next one asks for itself.
    let answer = prompted == .tooLong ? .empty : passcode.take(line)
    if isOffered, prompted == .typed, answer == (question.isBoth ? .passcode : .empty) {
      finger?.confirm()
      if let transcript = finger?.transcript { return .finger(transcript) }
    }
    if answer == .passcode { return .passcode }
    // One prompt for both: the next module finds the password there, and doesn't ask again.
    if answer == .other, question.door.either { pam.setToken(&line) }
    log("no passcode typed", question, finger?.transcript)
    throw nothing
  }

  /// Asks for the reader, and says why it isn't offered.
  private func begin(_ request: FingerRequest, _ question: Question, _ finger: inout FingerPrompt?) {
    finger = FingerPrompt(request)
    if question.isBoth { return }  // said once, by the verdict
    var outcome = finger?.refusal
    let mayBeOthers = outcome == .printsChanged
    // The password ends that, too.
    if question.needsPasscode || mayBeOthers { pam.note(.wantsProof, 0) }
    if question.needsPasscode, mayBeOthers || finger?.isOffered ?? false { outcome = .passcodeFirst }
    if !question.door.quiet, let outcome { tell(.fingerRefused(outcome)) }
    if question.needsPasscode { finger = nil }
  }

  private func log(_ event: Literal, _ question: Question, _ finger: FingerTranscript?) {
    guard let finger else { return }
    var line = logLine(event, question.user)
    line.add("finger", finger.outcome.word)
    pam.log(line.text)
  }

  /// What an earlier module asked for, if it is a passcode: it then doesn't stay there.
  private func takeFirstPass(
    _ question: Question, _ line: inout TypedLine, _ passcode: inout Passcode
  ) -> Bool {
    guard question.door.tryFirstPass || question.door.useFirstPass, pam.takeToken(&line),
      passcode.take(line) == .passcode
    else { return false }
    pam.clearToken()
    return true
  }

  /// Renders a verdict: the log, the notice, the delay, the result.
  private func answer(_ ending: Ending, _ configuration: Configuration, _ user: Bytes) -> PAMResult {
    let verdict = ending.verdict
    // Most people have no passcode: that isn't news.
    let isNews = if case .notEnrolled = verdict { false } else { true }
    if isNews || configuration.options.door.debug { log(ending, user) }
    if !configuration.options.door.quiet { tell(verdict) }
    if verdict.endsByPassword { pam.note(.wantsProof, 0) }
    let result = PAMResult(verdict, configuration, wasTyped: ending.wasTyped)
    if result != .success && result != .ignored && verdict.finger == nil { delayFailure(configuration) }
    return result
  }

  private func tell(_ verdict: Verdict) {
    if let notice = verdict.notice { pam.tell(notice) }
  }

  /// After a refusal without a prompt, too: kscreenlocker takes an answer within 50 ms for a broken service. libpam
  /// waits only where the whole stack fails.
  private func delayFailure(_ configuration: Configuration) {
    let seconds = configuration.options.door.failDelay
    if seconds > 0 { pam.delayFailure(seconds: seconds) }
  }

  private func log(_ ending: Ending, _ user: Bytes) {
    let verdict = ending.verdict
    var line = logLine(verdict.event, user)
    var isError = false
    line.add("finger", (verdict.finger ?? ending.finger)?.word)
    switch verdict {
    case .wrong(let standing, let failures): add(failures, standing, to: &line)
    case .locked(let milliseconds, let failures):
      add(failures, .locked(milliseconds: milliseconds), to: &line)
    case .exhausted(let failures): add(failures, .exhausted, to: &line)
    case .unavailable(let fault):
      line.add("cause", sentence: fault.loginText.bytes)
      isError = true
    case .granted(let earlier): add(earlier, to: &line)
    case .disabled, .expired, .mustChange, .notEnrolled, .notPermitted, .fingerGranted, .fingerRefused: break
    }
    pam.log(line.text, isError: isError)
  }

  @inline(never)
  private func add(_ failures: UInt32, _ standing: Standing, to line: inout LogLine) {
    line.add("failures", UInt64(failures))
    switch standing {
    case .open(let left): line.add("attempts_left", UInt64(left))
    case .locked(let milliseconds): line.add("seconds_left", wholeSeconds(milliseconds))
    case .exhausted: break
    }
  }

  private func add(_ earlier: FailedAttempts, to line: inout LogLine) {
    guard earlier.count > 0 else { return }
    line.add("failures", UInt64(earlier.count))
    if earlier.time > 0 { line.add("last_failure", SystemClock.rfc3339(earlier.time)) }
    line.add("last_service", earlier.service)
  }

  private func logLine(_ event: Literal, _ user: Bytes) -> LogLine {
    var line = LogLine(Text(event))
    line.add("user", user)
    line.add("service", origin.service)
    line.add("ruid", UInt64(origin.process.real))
    line.add("tty", pam.item(.terminal))
    line.add("rhost", pam.item(.remoteHost))
    line.add("ruser", pam.item(.requester))
    return line
  }
}
