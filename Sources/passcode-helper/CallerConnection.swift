internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One caller, from a request to its reply: who asks, what proves it, becoming `_passcode`, the act.
struct CallerConnection: ~Copyable {
  private let caller: ProcessIdentity
  private let sodium: Sodium
  /// The account of the look before; by then this process is `_passcode`.
  private var looked: UInt32?
  /// From the reply to a look to the end of the process.
  private var slot: CallerSlot?
  /// From the reply to a look on: passcode-fleet, if it waits for the attempt on an account of the fleet.
  private var fleet: HelperProcess?

  /// - Parameter caller: whose process this was when it started.
  init(_ caller: ProcessIdentity, _ sodium: Sodium) {
    self.caller = caller
    self.sodium = sodium
  }

  /// Whether it comes in its turn: after a look only an attempt on the same account.
  func takes(_ head: HelperRequest) -> Bool {
    looked == nil || head.operation.isAttempt && head.uid == looked
  }

  mutating func answer(_ request: consuming ReceivedRequest) -> HelperReply {
    do throws(Fault) {
      var request = request
      let reply = try answer(&request)
      guard reply.kind == .openWaiting else { return reply }
      // Taken before the reply: a caller that was told of a waiting helper sends its attempt there.
      slot = try? CallerSlot.take(.waiting, for: caller.real)
      return slot != nil ? reply : HelperReply(.openEnding, [reply.number(0)])
    } catch {
      log(LogLine("passcode unavailable"), cause: error.helperText.bytes)
      return HelperReply(fault: error)
    }
  }

  private mutating func answer(_ request: inout ReceivedRequest) throws(Fault) -> HelperReply {
    let service = try serviceIdentity()
    let operation = request.head.operation
    guard operation.permits(caller: caller.real, account: request.head.uid) else {
      return HelperReply(.notPermitted)
    }
    let account = try account(request.head.uid)
    let configuration = try Configuration.loadForService(
      isSecondFactor: request.head.conditions.isSecondFactor)
    if request.head.lengths.password > 0 {
      // In a fleet a password of this machine proves nothing but here.
      guard configuration.options.policy.takesPassword(for: operation),
        operation.isForThisMachine || !configuration.options.policy.asksVerifier(account.uid)
      else { return HelperReply(.closed) }
      // Without its file none is checked, and none counts.
      try PasswordService.check()
      try PasswordTries.take(for: caller.real)
      let isDigits = request.secrets.password.line.read { Answer($0) } == .passcode
      guard try PasswordService.accepts(&request.secrets.password, of: account) else {
        log(event("passcode: wrong password", account))
        return HelperReply(.wrongPassword)
      }
      PasswordTries.giveBack(to: caller.real)
      // Not before it was proven: the shape of a guess is no news, and must not look like a hint.
      if isDigits && operation.row.setsPasscode {
        log(event("passcode not enrolled: the password could be taken for one", account))
        return HelperReply(.passwordIsDigits)
      }
    }
    if looked == nil {
      do throws(Errno) { try HelperService.become(service) } catch {
        throw Installed.Program.helper.fault(.failed, error)
      }
      looked = account.uid
    }
    HelperService.limitTime(seconds: 140)
    return try act(account, configuration, &request)
  }

  /// The account that this process was given by the setuid and setgid bits, and must become.
  private func serviceIdentity() throws(Fault) -> Account {
    let service = try Helper.account()
    guard caller.effective == service.uid, caller.saved == service.uid, effectiveGroup() == service.gid else {
      throw Installed.Program.helper.fault(.helperPrivilege)
    }
    return service
  }

  private func account(_ uid: UInt32) throws(Fault) -> Account {
    switch Account.numbered(uid) {
    case .found(let account): return account
    case .unknown: throw Fault(.noAccount, number: UInt64(uid))
    case .failed(let error): throw Fault(.accountLookup, error: error.code)
    }
  }

  private mutating func act(
    _ account: Account, _ configuration: Configuration, _ request: inout ReceivedRequest
  ) throws(Fault) -> HelperReply {
    let origin = LoginOrigin(caller, service: request.service)
    let permit: Permit
    switch Gate.admit(account, origin, .service, wantsLogin: request.head.conditions.wantsLogin) {
    case .admitted(let given): permit = given
    case .refused(let reason, _): return HelperReply(verdict: .notPermitted(reason))
    case .unknownUser: return HelperReply(.notPermitted)
    }
    let isFleets = configuration.options.policy.asksVerifier(account.uid)
    // No verifier is asked who is enrolled.
    if isFleets, permit.waitsForLogin { return HelperReply(verdict: .notPermitted(.firstLogin)) }
    let vault = Vault(configuration, sodium) { SystemLog.notice($0.logLine) }
    let handler = RequestHandler(vault: vault, permit: permit, service: request.service)
    let operation = request.head.operation
    // What this machine's own store has for an account of a fleet means nothing.
    if !isFleets, !operation.row.isForDisabled, try vault.helperStatus(of: account).state == .disabled {
      return HelperReply(.disabled)
    }
    let isPassedOn = isFleets && !operation.isForThisMachine
    let reply =
      isPassedOn ? try Helper.passOn(request, &fleet) : try handler.reply(to: operation, &request.secrets)
    if let word = operation.word(reply) { log(event(word, account)) }
    return reply
  }

  // MARK: The log

  private func event(_ words: Literal, _ account: Account) -> LogLine {
    var line = LogLine(Text(words))
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    return line
  }

  @inline(never)
  private func log(_ line: LogLine, cause: Bytes? = nil) {
    var line = line
    line.add("by_uid", UInt64(caller.real))
    line.add("loginuid", ProcessIdentity.loginUID())
    if let cause { line.add("cause", sentence: cause) }
    SystemLog.notice(line.text)
  }
}

extension HelperOperation {
  /// What the log says of it; nil where it is no news.
  fileprivate func word(_ reply: HelperReply) -> Literal? {
    switch self {
    case .look, .status: nil
    case .verify: reply.verdict?.event
    // It opens nothing, so nobody who searches the log for logins should find it.
    case .prove: reply.verdict.map { $0.isGranted ? "passcode proven" : $0.event }
    case .change: reply.kind == .done ? "passcode changed" : reply.verdict?.event
    case .remove: reply.kind == .done ? "passcode removed" : reply.verdict?.event
    case .enroll: reply.kind == .done ? "passcode enrolled" : reply.verdict?.event
    case .enrollByCode: reply.codeEvent
    case .unlock: reply.kind == .done ? "passcode unlocked" : reply.verdict?.event
    case .pause: reply.kind == .done ? "passcode paused" : reply.verdict?.event
    // A proof without a pause ends none, and isn't logged as that.
    case .resume where reply.kind == .done: reply.number(0) == 1 ? "passcode resumed" : nil
    case .resume: reply.verdict?.event
    }
  }
}
