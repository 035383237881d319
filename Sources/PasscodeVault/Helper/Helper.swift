public import PasscodePolicy
public import PasscodeSystem

extension Installed.Program {
  /// A fault that keeps this program from answering its caller.
  @inline(never)
  public func fault(_ reason: Fault.Reason, _ error: Errno = Errno(0)) -> Fault {
    Fault(reason, path: Installed.path(of: self), error: error.code)
  }
}

/// How a process that isn't root asks: by a helper, which runs as `_passcode`, for a question, or for a look and its attempt.
///
/// MUST (helper's caller), here and in `HelperProcess`:
///  1  It starts only the installed program, with the right owner and mode: the helper is setuid and setgid to its account;
///     passcode-fleet, which root starts, is root's, and writable by nobody else.
///     test_helper.py, test_workstation_attacks.py
///  2  Real root never starts the helper: the file is `_passcode`'s, and an attacker who took over that account would be
///     root.                                                                       test_real_root_does_not_start_it
///  3  Anything except one whole, valid reply is a refusal that names its cause: killed, missing, slow or lying helpers.
///     test_helper_host.py, test_a_lying_helper
///  4  It stops waiting when the helper has used no processor time for 10 s (40 s while a password is proven), or after
///     130 s.                                                              test_helper_time.py, HelperProcessTests
///  5  It touches no signal handler, mask or descriptor of the host, and gets no SIGPIPE; a host may ignore SIGCHLD.
///     test_helper_host.py
///  6  A secret goes to this connection or nowhere: the host may have closed it and given its number to another file.
///     test_helper_host.py
public enum Helper {
  /// Starts a helper, and sends it the head of a request; its secrets are to follow.
  ///
  /// - Parameter waiting: a helper that answered a look before, and is taken if it still waits.
  @inline(never)
  package static func begin(
    _ head: Bytes, _ waiting: inout HelperProcess?, _ program: Installed.Program
  ) throws(Fault) -> HelperProcess {
    // While a person types it may have ended: it doesn't wait for ever.
    if waiting?.isWaiting != true { waiting = try start(program) }
    guard let helper = waiting.take() else { throw invalidReply }
    helper.send(head)
    return helper
  }

  /// The reply to a whole request.
  ///
  /// - Parameters:
  ///   - waiting: afterwards, the helper if it waits for the attempt.
  ///   - patience: how many milliseconds it may go without movement.
  @inline(never)
  package static func finish(
    _ helper: consuming HelperProcess, _ waiting: inout HelperProcess?, _ program: Installed.Program,
    patience: UInt64 = 10_000
  ) throws(Fault) -> HelperReply {
    // Longer than each of the helper's waits (MUST 12 of the attempt protocol); several in a row are a refusal.
    let patience: HelperProcess.Patience = (withoutMovement: patience, altogether: 130_000)
    let waits = HelperReply.Kind.openWaiting
    let pause: HelperProcess.Pause = (length: waits.textOffset, secondByte: waits.rawValue)
    let answer: Bytes
    do throws(Errno) {
      answer = try helper.reply(limit: HelperReply.longest, pause: pause, patience)
    } catch {
      throw program.fault(.failed, error)
    }
    guard !answer.isEmpty else { throw program.fault(.noReply) }
    guard let reply = HelperReply(answer) else { throw program.fault(.invalidReply) }
    if reply.kind == .openWaiting { waiting = consume helper }
    return reply
  }

  /// The fault of a reply that doesn't answer the question.
  public static var invalidReply: Fault { Installed.Program.helper.fault(.invalidReply) }

  /// An act on one's own passcode that the account's password proves.
  ///
  /// - Parameters:
  ///   - operation: its row asks for a password and nothing else.
  ///   - program: the tool where this process is root, which then proves anybody's.
  public static func ask(
    _ operation: HelperOperation, _ uid: UInt32, by password: borrowing Password,
    _ program: Installed.Program = .helper
  ) throws(Fault) -> HelperReply {
    var waiting: HelperProcess?
    let request = HelperRequest(
      operation, uid: uid, lengths: HelperRequest.Lengths(password: password.line.count))
    let helper = try begin(request.head(), &waiting, program)
    helper.send(password)
    helper.endRequests()
    return try finish(helper, &waiting, program, patience: patienceForPassword)
  }

  /// Checking a password may wait for a network and show no progress, for as long as the helper lets it. Milliseconds.
  public static var patienceForPassword: UInt64 { 40_000 }

  private static func start(_ program: Installed.Program) throws(Fault) -> HelperProcess {
    let service = try account()
    let isHelper = program == .helper
    let path = Installed.path(of: program)
    let status: FileStatus
    do throws(Errno) { status = try FileStatus.of(path) } catch { throw program.fault(.failed, error) }
    guard status.kind == .file, status.owner == (isHelper ? service.uid : 0),
      status.group == (isHelper ? service.gid : 0), status.mode & 0o6022 == (isHelper ? 0o6000 : 0)
    else { throw program.fault(isHelper ? .helperMode : .failed, .denied) }
    guard !isHelper || ProcessIdentity.current().real != 0 else { throw program.fault(.helperForRoot) }
    HelperProcess.reapAbandoned(of: service.uid)
    do throws(Errno) { return try HelperProcess(path, takesProof: program == .tool) } catch {
      throw program.fault(.failed, error)
    }
  }

  /// The service account, which the helper becomes.
  public static func account() throws(Fault) -> Account {
    guard let account = serviceAccount() else { throw Installed.Program.helper.fault(.noServiceAccount) }
    return account
  }

  /// The helper's own: has a fleet's verifier asked what was asked here, about the same account. Passwords aren't passed on.
  ///
  /// - Parameter waiting: after a look, passcode-fleet if it waits for the attempt.
  public static func passOn(
    _ request: borrowing ReceivedRequest, _ waiting: inout HelperProcess?
  ) throws(Fault) -> HelperReply {
    let fleet = try begin(request.head.head() + request.service, &waiting, .fleet)
    fleet.send(request.secrets.passcode)
    fleet.send(request.secrets.change.new.passcode)
    if request.head.operation != .look { fleet.endRequests() }
    let reply = try finish(fleet, &waiting, .fleet)
    // The helper itself waits in any case.
    return reply.kind == .openEnding ? HelperReply(.openWaiting, [reply.number(0)]) : reply
  }
}

/// A login by another program: of a process that doesn't reach the store, or for an account of a fleet.
public struct IndirectLogin: Login, ~Copyable {
  private let program: Installed.Program
  private let uid: UInt32
  private let waitsForLogin: Bool
  private let conditions: HelperRequest.Conditions
  private let service: Bytes
  private let purpose: Purpose
  /// Between the look and the attempt.
  private var waiting: HelperProcess?
  public private(set) var looked = Looked()

  /// - Parameters:
  ///   - service: as for `DirectLogin`.
  ///   - program: `fleet` where `Options.Policy.asksVerifier` says so.
  public init(
    _ permit: Permit, _ conditions: HelperRequest.Conditions, service: Bytes, _ purpose: Purpose = .login,
    by program: Installed.Program = .helper
  ) {
    self.program = program
    uid = permit.account.uid
    waitsForLogin = permit.waitsForLogin
    self.purpose = purpose
    self.conditions = conditions
    self.service = Record.serviceName(service)
  }

  public mutating func look(_: inout Unsealed) -> Verdict? {
    // Only a verifier knows who is enrolled in a fleet, and it isn't asked for that.
    if waitsForLogin { return .notPermitted(.firstLogin) }
    do throws(Fault) {
      let verdict = try verdict(.look, begin(.look, passcode: 0))
      // The helper looks as for a login; a change is allowed all the same.
      if case .mustChange? = verdict, purpose == .change { return nil }
      return verdict
    } catch {
      return .unavailable(error)
    }
  }

  public mutating func attempt(_ passcode: borrowing Passcode, _: inout Unsealed) -> Verdict {
    if waitsForLogin { return .notPermitted(.firstLogin) }
    do throws(Fault) {
      let operation = purpose == .change ? HelperOperation.prove : .verify
      let helper = try begin(operation, passcode: passcode.count)
      helper.send(passcode)
      helper.endRequests()
      return try verdict(operation, helper) ?? .unavailable(Helper.invalidReply)
    } catch {
      return .unavailable(error)
    }
  }

  @inline(never)
  private mutating func begin(
    _ operation: HelperOperation, passcode: Int
  ) throws(Fault) -> HelperProcess {
    let request = HelperRequest(
      operation, uid: uid, conditions, lengths: HelperRequest.Lengths(passcode: passcode),
      serviceLength: service.count)
    return try Helper.begin(request.head() + service, &waiting, program)
  }

  /// nil: the prompt may come, which is no answer but to a look; and `granted` is none to a look.
  @inline(never)
  private mutating func verdict(
    _ operation: HelperOperation, _ helper: consuming HelperProcess
  ) throws(Fault) -> Verdict? {
    let reply = try Helper.finish(helper, &waiting, program)
    if reply.kind == .openWaiting || reply.kind == .openEnding {
      looked.attemptsLeft = UInt32(clamping: reply.number(0))
      return nil
    }
    guard let verdict = reply.verdict, operation.isAttempt || reply.kind != .granted else {
      throw Helper.invalidReply
    }
    return verdict
  }
}

/// A whole request on standard input, its secrets in guarded memory: what `IndirectLogin` and `Helper` send.
public struct ReceivedRequest: ~Copyable {
  public let head: HelperRequest
  /// The PAM service that asks; empty: it didn't say.
  public let service: Bytes
  /// The secrets that the request's head announces.
  public var secrets: Secrets

  /// Reads it to its end; after a look there may be another one. nil: there is any doubt about it.
  public static func read(_ sodium: Sodium) -> ReceivedRequest? {
    guard let bytes = HelperService.receive(HelperRequest.headLength), let head = HelperRequest(head: bytes),
      let service = HelperService.receive(head.serviceLength), Record.serviceName(service) == service,
      var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound(in: head),
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound,
      secrets.password.line.receive(count: head.lengths.password),
      head.operation == .look || !HelperService.hasMore()
    else { return nil }
    return ReceivedRequest(head: head, service: service, secrets: secrets)
  }
}
