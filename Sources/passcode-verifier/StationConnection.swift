internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// Answers the requests of a workstation: one, or a look and the attempt after it.
struct StationConnection: ~Copyable {
  private let name: Bytes
  private let peer: UInt32?
  private let sodium: Sodium
  /// One of the places for its workstation, held until this process ends.
  private var place: FleetTurn?
  /// What `refusal` has read, for the first request.
  private var admitted: Configuration?
  /// From a look to the attempt: the fleet with its connection to etcd, and what was read.
  private var fleet: FleetVault<EtcdClient>?
  private let signs = Signs()
  /// The leases that an attempt has left without keys.
  private var emptied: [AttemptLease?] = []
  private var known: FleetState?
  /// Whether the last request had a code, and that isn't charged and won't be.
  private(set) var isUncharged = false
  /// What this process has counted, and not added to the server's numbers yet.
  private var counts = ServerCounts()

  /// - Parameters:
  ///   - workstation: the distinguished name that the relay passed on.
  ///   - peer: who passed it on.
  init(workstation name: Bytes, peer: UInt32?, _ sodium: Sodium) {
    self.name = name
    self.peer = peer
    self.sodium = sodium
  }

  /// Becomes the service account. A connection that may not ask must not keep this process running, or take a place.
  ///
  /// - Returns: the reply to a workstation that may not ask; nil: it may.
  mutating func refusal() -> HelperReply? {
    do throws(Fault) {
      try becomeService()
      guard let configuration = try configuration() else {
        let reply = turnedAway()
        return reply.fault.map { told($0) } ?? reply
      }
      admitted = configuration
      place = try taken(FleetTurn.toServe(name), of: FleetTurn.mostServing)
      guard FleetTurn.mayAsk(name) else {
        throw Fault(.tooManyRequests, number: FleetTurn.mostAsked)
      }
      return nil
    } catch {
      return unavailable(error)
    }
  }

  /// - Precondition: there was no `refusal`.
  mutating func answer(_ request: consuming Request) -> HelperReply {
    let operation = request.head.operation
    isUncharged = operation.isCharged
    let started = SystemClock.bootMilliseconds() ?? 0
    let reply = decide(request)
    let now = SystemClock.bootMilliseconds() ?? started
    counts.add(operation, reply.kind, milliseconds: SystemClock.elapsed(from: started, to: now))
    return reply
  }

  private mutating func decide(_ request: consuming Request) -> HelperReply {
    let (account, service) = (request.account, request.service)
    do throws(Fault) {
      var request = request
      let reply = try answer(&request)
      if let fault = reply.fault { return told(fault) }
      return reply
    } catch {
      return unavailable(error, account, service)
    }
  }

  /// Adds what was counted to the server's numbers. Called once the workstation has its reply.
  mutating func keepCounts() {
    guard counts != ServerCounts() else { return }
    CountFile.add(counts)
    counts = ServerCounts()
  }

  /// Keeps the leases that an attempt has left without keys, or ends them. Called once the workstation has its reply.
  func tidyUp() {
    fleet?.keep(emptied)
  }

  /// - Parameters: account and service are empty if the request was not read.
  private mutating func unavailable(_ fault: Fault, _ account: Bytes = [], _ service: Bytes = [])
    -> HelperReply
  {
    var line = LogLine("passcode unavailable")
    line.add("user", account)
    line.add("service", service)
    log(line, cause: fault.text.bytes)
    return told(fault)
  }

  /// What a workstation has words for: the path and the system's words. The log here has said the rest.
  private mutating func told(_ fault: Fault) -> HelperReply {
    counts.add(fault.reason)
    return switch fault.reason {
    case .noEtcd, .fleetRestored, .fleetEpoch:
      HelperReply(fault: Fault(.failed, path: fault.path, error: Int32(fault.error)))
    // A damaged fleet key: on a workstation that reason means that the account has a passcode (`isOfKey`).
    case .keyLength: HelperReply(fault: Fault(.failed, path: fault.path, error: Errno.badMessage.code))
    default: HelperReply(fault: fault)
    }
  }

  private mutating func answer(_ request: inout Request) throws(Fault) -> HelperReply {
    HelperService.limitTime(seconds: 140)
    // For the attempt after a look, the list is read again: it may have changed by then.
    let found: Configuration?
    if let first = admitted.take() { found = first } else { found = try configuration() }
    guard let configuration = found else { return turnedAway() }
    let signs = signs
    let clock = Clock.system.calling { signs.give() }
    let vault = Vault(configuration, sodium, clock: clock) { SystemLog.notice($0.logLine) }
    let operation = request.head.operation
    let share =
      operation.isCharged
      ? try taken(FleetTurn.toServe(name, account: request.account), of: FleetTurn.mostOfAccount)
      : FleetTurn.none
    defer { withExtendedLifetime(share) {} }
    let turn = operation.isCharged ? FleetTurn.toAttempt(request.account, clock) : FleetTurn.none
    defer { withExtendedLifetime(turn) {} }
    let fleet = try FleetServer.open(vault, keeping: self.fleet?.etcd) { signs.give() }
    self.fleet = fleet
    let reply = try reply(&request, fleet)
    if let event = event(request.head.operation, reply) {
      var line = LogLine(Text(event))
      line.add("user", request.account)
      line.add("service", request.service)
      if case .unavailable(let fault)? = reply.verdict {
        log(line, cause: fault.text.bytes)
      } else {
        log(line)
      }
    }
    return reply
  }

  private func taken(_ turn: consuming FleetTurn?, of most: Int) throws(Fault) -> FleetTurn {
    guard let turn else { throw Fault(.tooManyRequests, number: UInt64(most)) }
    return turn
  }

  /// nil: this workstation may not ask.
  private func configuration() throws(Fault) -> Configuration? {
    let configuration = try Configuration.loadForService(isSecondFactor: false)
    guard isRelay(peer), try FleetServer.lists(name, configuration) else { return nil }
    return configuration
  }

  /// The reply to a caller that may not ask.
  private func turnedAway() -> HelperReply {
    guard isRelay(peer) else {
      log(LogLine("passcode-verifier: not asked by the relay"))
      return HelperReply(.notPermitted)
    }
    log(LogLine("passcode-verifier: not on the list of workstations"))
    return HelperReply(fault: Fault(.notListed, path: FleetServer.workstationsPath))
  }

  /// What the log says of it; nil where it is no news.
  private func event(_ operation: HelperOperation, _ reply: HelperReply) -> Literal? {
    if reply.kind == .refused { return "new passcode refused" }
    switch operation {
    case .verify: return reply.verdict?.event
    // It opens nothing, so nobody who searches the log for logins should find it.
    case .prove: return reply.verdict.map { $0.isGranted ? "passcode proven" : $0.event }
    case .change: return reply.kind == .done ? "passcode changed" : reply.verdict?.event
    case .enrollByCode: return reply.codeEvent
    case .look: return reply.kind == .unavailable ? reply.verdict?.event : nil
    case .status, .remove, .enroll, .unlock, .pause, .resume: return nil
    }
  }

  /// Whether the relay asks. Root may ask, too: by hand, and in tests.
  private func isRelay(_ peer: UInt32?) -> Bool {
    guard let peer else { return false }
    if peer == 0 { return true }
    guard case .found(let account) = Account.named(Bytes(text: "stunnel4")) else { return false }
    return peer == account.uid
  }

  private func becomeService() throws(Fault) {
    let service = try Helper.account()
    let process = ProcessIdentity.current()
    if process.effective == 0 {
      do throws(Errno) { try HelperService.become(service) } catch { throw Fault(.failed, error: error.code) }
    } else if process.real != service.uid || process.effective != service.uid || process.saved != service.uid
    {
      throw Fault(.deniedToService, path: FleetKey.usualPath)
    }
  }

  private mutating func reply(
    _ request: inout Request, _ fleet: FleetVault<EtcdClient>
  ) throws(Fault) -> HelperReply {
    var login = FleetLogin(
      fleet, account: request.account, workstation: FleetServer.workstation(name), service: request.service,
      isSecondFactor: request.head.conditions.isSecondFactor)
    // What the look has read is this account's: `Request.read` lets an attempt follow only on the same one.
    login.known = known.take()
    defer {
      if login.mayBeCharged { isUncharged = false }
      emptied += login.emptied
    }
    switch request.head.operation {
    case .look:
      let refusal = login.look(&request.secrets.unsealed)
      known = login.known
      return refusal.map { HelperReply(verdict: $0) }
        ?? HelperReply(.openEnding, [UInt64(login.looked.attemptsLeft)])
    case .verify, .prove:
      return HelperReply(verdict: login.attempt(request.secrets.passcode, &request.secrets.unsealed))
    case .status: return try fleet.status(request.account).forWorkstation.reply
    case .change:
      let verdict = login.attempt(request.secrets.passcode, &request.secrets.unsealed)
      guard verdict.isGranted, let mark = login.provenMark else { return HelperReply(verdict: verdict) }
      request.secrets.change.old.passcode.copy(request.secrets.passcode)
      return try enroll(&request, fleet, by: .passcode(mark))
    case .enrollByCode: return try enroll(&request, login)
    // FleetRequest.allows has refused them.
    case .remove, .enroll, .unlock, .pause, .resume: return HelperReply(.notPermitted)
    }
  }

  private func enroll(
    _ request: inout Request, _ fleet: FleetVault<EtcdClient>, by authority: Authority
  ) throws(Fault) -> HelperReply {
    do throws(EnrolmentError) {
      try fleet.enroll(request.account, request.secrets.change, &request.secrets.unsealed, by: authority)
      return HelperReply(.done, [1])
    } catch {
      return try reply(to: error)
    }
  }

  private func enroll(
    _ request: inout Request, _ login: borrowing FleetLogin<EtcdClient>
  ) throws(Fault) -> HelperReply {
    do throws(EnrolmentError) {
      let outcome = try login.enroll(
        byCode: request.secrets.passcode, request.secrets.change, &request.secrets.unsealed)
      switch outcome {
      case .done: return HelperReply(.done, [1])
      case .noCode: return HelperReply(.noCode)
      case .refused(let verdict): return HelperReply(verdict: verdict)
      }
    } catch {
      return try reply(to: error)
    }
  }

  private func reply(to error: EnrolmentError) throws(Fault) -> HelperReply {
    switch error {
    case .fault(let fault): throw fault
    case .refused(let refusal): return HelperReply(refusal: refusal)
    }
  }

  private func log(_ line: LogLine, cause: Bytes? = nil) {
    var line = line
    line.add("workstation", name)
    if let cause { line.add("cause", sentence: cause) }
    SystemLog.notice(line.text)
  }
}

extension HelperOperation {
  /// Whether a verifier charges it to the account's budget.
  fileprivate var isCharged: Bool {
    switch self {
    case .verify, .prove, .change, .enrollByCode: true
    case .look, .status, .remove, .enroll, .unlock, .pause, .resume: false
    }
  }
}

/// Tells the workstation, at most once a second, that this process is at work.
private final class Signs {
  private var last: UInt64 = 0

  func give() {
    guard let now = SystemClock.bootMilliseconds(), now - last >= 1_000 else { return }
    last = now
    HelperService.reply([FleetReply.atWork])
  }
}
