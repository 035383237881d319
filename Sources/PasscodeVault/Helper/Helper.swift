public import PasscodePolicy
public import PasscodeSystem

/// How a process that isn't root asks: a helper for each question, or for a look and its attempt, which runs as `_passcode`.
///
/// - The helper MUST be the installed one, setuid and setgid to its account; whatever else stands there isn't
///   started.                                                                          test_helper.py
/// - Real root MUST NOT start it: the file is _passcode's, and an intruder in that account would become root.
///                                                                                     test_helper.py
/// - Whatever isn't one whole and sensible reply MUST be a refusal that names its cause.  test_helper_host.py
public enum Helper {
  /// Set when it is built; no option, argument or environment of the caller names another one.    test_build.py
  public static var path: Bytes { Installed.helper }

  /// Asks one question.
  ///
  /// - Parameter secrets: the fields `code`, `other` (a new passcode) and `line` (a password) go with it, as far
  ///   as they hold something.
  public static func ask(
    _ operation: HelperOperation, _ uid: UInt32, _ secrets: borrowing Secrets
  ) throws(Fault) -> HelperReply {
    var waiting: HelperProcess?
    return try ask(Question(operation, uid), secrets, &waiting)
  }

  fileprivate struct Question {
    let operation: HelperOperation
    let uid: UInt32
    var conditions = HelperRequest.Conditions()
    /// As `Record.serviceName` makes it.
    var service = Bytes()

    init(_ operation: HelperOperation, _ uid: UInt32) {
      self.operation = operation
      self.uid = uid
    }
  }

  /// - Parameter waiting: a helper that answered a look before; afterwards, one that waits for the attempt.
  fileprivate static func ask(
    _ question: Question, _ secrets: borrowing Secrets, _ waiting: inout HelperProcess?
  ) throws(Fault) -> HelperReply {
    // While a person types it may have ended: it doesn't wait for ever.
    if waiting?.isWaiting != true { waiting = try start() }
    guard let helper = waiting.take() else { throw invalidReply }
    let lengths = HelperRequest.Lengths(
      passcode: secrets.count(.code), new: secrets.count(.other), password: secrets.count(.line))
    let request = HelperRequest(
      question.operation, uid: question.uid, question.conditions, lengths: lengths,
      serviceLength: question.service.count)
    helper.send(
      request.head() + question.service, secrets, [.code, .other, .line], isLast: question.operation != .look)
    let answer: Bytes
    do throws(Errno) {
      answer = try helper.reply(limit: HelperReply.longest, pause: pause, patience(lengths))
    } catch {
      throw fault(.failed, error)
    }
    guard !answer.isEmpty else { throw fault(.noReply) }
    guard let reply = HelperReply(answer) else { throw invalidReply }
    if reply.kind == .open { waiting = consume helper }
    return reply
  }

  private static var pause: HelperProcess.Pause {
    HelperProcess.Pause(length: HelperReply.Kind.open.textOffset, secondByte: HelperReply.Kind.open.rawValue)
  }

  /// Altogether it is longer than any one of the helper's waits (MUST 12 of the attempt protocol); several in a row
  /// are a refusal. Without movement a password's proof may wait for a network, for as long as the helper lets it.
  private static func patience(_ lengths: HelperRequest.Lengths) -> HelperProcess.Patience {
    HelperProcess.Patience(withoutMovement: lengths.password == 0 ? 10_000 : 40_000, altogether: 130_000)
  }

  /// For a reply that isn't one to the question.
  public static var invalidReply: Fault { fault(.invalidReply) }

  private static func start() throws(Fault) -> HelperProcess {
    let service = try account()
    let status: FileStatus
    do throws(Errno) { status = try FileStatus.of(path) } catch { throw fault(.failed, error) }
    guard status.kind == .file, status.owner == service.uid, status.group == service.gid,
      status.mode & 0o6022 == 0o6000
    else { throw fault(.helperMode) }
    guard ProcessIdentity.current().real != 0 else { throw fault(.helperForRoot) }
    HelperProcess.reapAbandoned(of: service.uid)
    do throws(Errno) { return try HelperProcess(path) } catch { throw fault(.failed, error) }
  }

  /// The account that it is to become.
  public static func account() throws(Fault) -> Account {
    guard let account = serviceAccount() else { throw fault(.noServiceAccount) }
    return account
  }

  /// For what keeps it from answering.
  @inline(never)
  public static func fault(_ reason: Fault.Reason, _ error: Errno = Errno(0)) -> Fault {
    Fault(reason, path: path, error: error.code)
  }
}

/// A login of a process that doesn't reach the store.
public struct HelperLogin: Login, ~Copyable {
  private let uid: UInt32
  private let conditions: HelperRequest.Conditions
  private let service: Bytes
  /// Between the look and the attempt.
  private var waiting: HelperProcess?

  /// - Parameter service: as for `DirectLogin`.
  public init(_ permit: Permit, _ conditions: HelperRequest.Conditions, service: Bytes) {
    uid = permit.account.uid
    self.conditions = conditions
    self.service = Record.serviceName(service)
  }

  public mutating func look(_ secrets: inout Secrets) -> Verdict? {
    verdict(.look, secrets)
  }

  public mutating func attempt(_ secrets: inout Secrets) -> Verdict {
    verdict(.verify, secrets) ?? .unavailable(Helper.invalidReply)
  }

  /// nil: the prompt may come, which is no answer but to a look; and `granted` is none to a look.
  @inline(never)
  private mutating func verdict(_ operation: HelperOperation, _ secrets: borrowing Secrets) -> Verdict? {
    do throws(Fault) {
      var question = Helper.Question(operation, uid)
      question.conditions = conditions
      question.service = service
      let reply = try Helper.ask(question, secrets, &waiting)
      if reply.kind == .open || reply.kind == .openWithoutWaiting { return nil }
      guard let verdict = reply.verdict, operation == .verify || reply.kind != .granted else {
        throw Helper.invalidReply
      }
      return verdict
    } catch {
      return .unavailable(error)
    }
  }
}
