public import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// An etcd, as a fleet needs it: the one of this server, or one in memory for tests.
///
/// It sends nothing twice. An answer that is nil says nothing: what was asked may have been carried out, or may still be.
public protocol EtcdStore: AnyObject {
  /// Linearizable; acknowledged only once it is on the disks of a majority.
  func commit(_ transaction: EtcdTransaction) -> EtcdOutcome?

  /// A lease of at least so many seconds; not 0.
  func grantLease(seconds: UInt64) -> UInt64?

  /// Seconds; 0: it is over.
  func timeLeft(_ lease: UInt64) -> UInt64?

  /// Ends a lease, and deletes the keys that it has.
  func endLease(_ lease: UInt64)

  /// Whether it has said that its database is full: then it can still be read, and nothing can be charged.
  var isFull: Bool { get }

  /// The numbers of all leases in etcd.
  func leases() -> [UInt64]?

  /// What etcd tells of one lease: its time, and the keys that end with it.
  func lease(_ lease: UInt64) -> EtcdLease?
}

/// This server's etcd, by its JSON gateway on 127.0.0.1.
///
/// MUST (fleet):
/// 13  etcd's port is believed only if a process of root or of the account `etcd` has accepted the connection: anybody can
///     bind it while etcd is down. A workstation is answered only if its full distinguished name is on the list.
///     ConnectionRowTests, LoopbackTests, test_verifier_attacks.py
///
/// - An answer MUST come within 2 s, or there is none.                                     test_verifier_attacks.py
/// - A request is repeated only if etcd says that its token is none: then it has not been carried out.
/// - A token that got no answer is not used again, by the process that waited for it.            test_verifier.py
public final class EtcdClient: EtcdStore {
  private static let milliseconds: UInt64 = 2_000
  /// How many tokens one request tries: the one that is kept, and others if etcd has forgotten it.
  private static let mostTokens = 3

  private let port: UInt16
  private let user: Bytes
  private let password: () throws(Fault) -> Bytes
  private let file: TokenFile
  private let atWork: () -> Void
  private var connection: LoopbackConnection?
  /// Whether the last request went out: not where nobody who is believed has the port.
  private var wasSent = false
  /// The token that was last accepted, and the one that got no answer.
  private var current: Bytes?
  private var unanswered: Bytes?

  /// - Parameters:
  ///   - user: one of etcd's own accounts; empty: etcd asks for none.
  ///   - file: where its token is kept, for all processes of this server.
  ///   - atWork: called before each request.
  init(
    port: UInt16, user: Bytes, password: @escaping () throws(Fault) -> Bytes, token file: TokenFile,
    atWork: @escaping () -> Void
  ) {
    self.port = port
    self.user = user
    self.password = password
    self.file = file
    self.atWork = atWork
  }

  public func commit(_ transaction: EtcdTransaction) -> EtcdOutcome? {
    post("/v3/kv/txn", transaction.body).flatMap { EtcdOutcome($0, of: transaction) }
  }

  public func grantLease(seconds: UInt64) -> UInt64? {
    post("/v3/lease/grant", EtcdRequest.grant(seconds: seconds)).flatMap {
      EtcdAnswer.lease($0, seconds: seconds)
    }
  }

  public func timeLeft(_ lease: UInt64) -> UInt64? {
    post("/v3/lease/timetolive", EtcdRequest.timeLeft(lease)).flatMap { EtcdAnswer.timeLeft($0) }
  }

  public func endLease(_ lease: UInt64) {
    _ = post("/v3/lease/revoke", EtcdRequest.timeLeft(lease))
  }

  public var isFull: Bool { health()?.isFull ?? false }

  public func leases() -> [UInt64]? {
    post("/v3/lease/leases", EtcdRequest.nothing).flatMap { EtcdLease.all($0) }
  }

  public func lease(_ lease: UInt64) -> EtcdLease? {
    post("/v3/lease/timetolive", EtcdRequest.lease(lease)).flatMap { EtcdLease($0) }
  }

  /// How this server's member is; nil: it doesn't answer.
  public func health() -> EtcdHealth? {
    post("/v3/maintenance/status", EtcdRequest.nothing).flatMap { EtcdHealth($0) }
  }

  /// The names of the members; nil: no answer.
  public func members() -> [Bytes]? {
    post("/v3/cluster/member/list", EtcdRequest.nothing).flatMap { EtcdHealth.members($0) }
  }

  /// Whether it answers programs that name no account; nil: it gives no valid answer at all.
  public func answersAnyone() -> Bool? {
    let question = EtcdTransaction([.count(prefix: FleetKeys.epoch)])
    return send("/v3/kv/txn", question.body, token: []).map { $0.status == 200 }
  }

  /// The body of an answer; nil: there is none, or it is an error.
  private func post(_ path: Literal, _ body: Bytes) -> Bytes? {
    guard !user.isEmpty else { return success(send(path, body, token: [])) }
    var stale = unanswered
    for _ in 0..<EtcdClient.mostTokens {
      guard let token = token(after: stale) else { return nil }
      guard let response = send(path, body, token: token) else {
        // A token names the revision in which it was made. An etcd that was restored is behind that, and waits.
        if wasSent { unanswered = token }
        return nil
      }
      if !EtcdAnswer.wantsToken(response) {
        current = token
        return success(response)
      }
      stale = token
    }
    return nil
  }

  private func token(after stale: Bytes?) -> Bytes? {
    if let current, current != stale { return current }
    return file.next(after: stale, whileWaiting: atWork) { authenticate() }
  }

  private func success(_ response: HTTPResponse?) -> Bytes? {
    response?.status == 200 ? response?.body : nil
  }

  private func authenticate() -> Bytes? {
    guard let password = try? password() else { return nil }
    let body = EtcdRequest.authenticate(name: user, password: password)
    return success(send("/v3/auth/authenticate", body, token: [])).flatMap { EtcdAnswer.token($0) }
  }

  private func send(_ path: Literal, _ body: Bytes, token: Bytes) -> HTTPResponse? {
    atWork()
    wasSent = false
    guard let open = connection ?? connect() else { return nil }
    wasSent = true
    // What is left of an exchange that failed would be taken for the next one's answer.
    connection = nil
    var whole: HTTPResponse?
    let request = httpRequest(path, token: token, body: body)
    let limit = HTTPResponse.longestHead + 2 * HTTPResponse.longestBody
    let answer = try? open.ask(request, within: EtcdClient.milliseconds, limit: limit) { bytes in
      switch HTTPResponse.read(bytes) {
      case .incomplete: return false
      case .invalid: return nil
      case .whole(let response):
        whole = response
        return true
      }
    }
    guard answer != nil else { return nil }
    connection = open
    return whole
  }

  private func connect() -> LoopbackConnection? {
    guard let open = try? LoopbackConnection(port: port) else { return nil }
    var users: [UInt32] = [0]
    if case .found(let account) = Account.named(Bytes(text: "etcd")) { users.append(account.uid) }
    return open.isOwned(by: users) ? open : nil
  }
}
