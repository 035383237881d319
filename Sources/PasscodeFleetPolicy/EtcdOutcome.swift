public import PasscodePolicy

/// What etcd's gateway answers to a transaction.
///
/// - A member that is missing MUST be read as false, 0 or empty: the gateway leaves those out. A transaction whose
///   conditions weren't met therefore has no `succeeded` at all, and that MUST NOT look like one that was carried out.
/// - The results MUST be those of the actions that were asked, one each and in their order, with the keys that were asked.
///                                                                                    EtcdTests, FuzzEtcd
public struct EtcdOutcome: Equatable, Sendable {
  /// All conditions were met, and `actions` were carried out; else `otherwise`.
  public let succeeded: Bool
  public let origin: EtcdOrigin
  public let results: [Result]

  public enum Result: Equatable, Sendable {
    /// The entries that were read; `count` is how many there are altogether, also beyond these.
    case entries([EtcdEntry], count: UInt64)
    case done
  }

  /// The one entry that a read found; nil: none, or it was no read.
  public func entry(_ index: Int) -> EtcdEntry? {
    guard index < results.count, case .entries(let entries, _) = results[index] else { return nil }
    return entries.first
  }

  /// How many keys a count found.
  public func count(_ index: Int) -> UInt64 {
    guard index < results.count, case .entries(_, let count) = results[index] else { return 0 }
    return count
  }
}

extension EtcdOutcome {
  /// nil unless the input is well-formed and complete.
  @inline(never)
  public init?(_ body: Bytes, of transaction: EtcdTransaction) {
    guard let answer = JSONValue(body), let origin = EtcdOrigin(answer),
      let succeeded = flag(answer, "succeeded")
    else { return nil }
    let actions = succeeded ? transaction.actions : transaction.otherwise
    let responses = answer.member("responses").map { $0.items } ?? []
    guard let responses, responses.count == actions.count else { return nil }
    var results: [Result] = []
    for index in actions.indices {
      guard let result = Result(responses[index], of: actions[index]) else { return nil }
      results.append(result)
    }
    self.init(succeeded: succeeded, origin: origin, results: results)
  }
}

/// A key of etcd with its value, its revision and its lease.
public struct EtcdEntry: Equatable, Sendable {
  public let key: Bytes
  public let value: Bytes
  /// The revision of the last write to this key: at least 1.
  public let modified: UInt64
  /// The lease's number; 0 for a key without a lease.
  public let lease: UInt64
}

/// Which cluster answers, and how far it has come.
public struct EtcdOrigin: Equatable, Sendable {
  public let cluster: UInt64
  public let revision: UInt64
  /// The term of etcd's Raft: it rises with each change of leader.
  public let term: UInt64
}

extension EtcdOrigin {
  fileprivate init?(_ answer: JSONValue) {
    guard let header = answer.member("header"), let cluster = header.member("cluster_id")?.number,
      cluster > 0,
      let revision = header.member("revision")?.number, revision > 0,
      let term = header.member("raft_term")?.number, term > 0
    else { return nil }
    self.init(cluster: cluster, revision: revision, term: term)
  }
}

extension EtcdOutcome.Result {
  fileprivate init?(_ response: JSONValue, of action: EtcdTransaction.Action) {
    switch action {
    case .put:
      guard response.member("response_put") != nil else { return nil }
      self = .done
    case .delete:
      guard response.member("response_delete_range") != nil else { return nil }
      self = .done
    case .count:
      guard let range = response.member("response_range"), let count = number(range, "count"),
        range.member("kvs") == nil
      else { return nil }
      self = .entries([], count: count)
    case .read(let key):
      guard let (entries, count) = Self.entries(response), entries.count == count, count <= 1 else {
        return nil
      }
      for entry in entries where entry.key != key { return nil }
      self = .entries(entries, count: count)
    case .list(_, let prefix, let limit):
      guard let (entries, count) = Self.entries(response), entries.count <= min(limit, count) else {
        return nil
      }
      for entry in entries where !entry.key.starts(with: prefix) { return nil }
      self = .entries(entries, count: count)
    }
  }

  private static func entries(_ response: JSONValue) -> ([EtcdEntry], count: UInt64)? {
    guard let range = response.member("response_range"), let count = number(range, "count") else {
      return nil
    }
    guard let items = range.member("kvs") else { return ([], count) }
    var entries: [EtcdEntry] = []
    for item in items.items ?? [] {
      guard let entry = EtcdEntry(item) else { return nil }
      entries.append(entry)
    }
    return items.items == nil ? nil : (entries, count)
  }
}

extension EtcdEntry {
  fileprivate init?(_ item: JSONValue) {
    guard let key = decoded(item, "key"), !key.isEmpty, let value = decoded(item, "value"),
      let modified = item.member("mod_revision")?.number, modified > 0, let lease = number(item, "lease")
    else { return nil }
    self.init(key: key, value: value, modified: modified, lease: lease)
  }
}

/// Base64 that is left out where it is empty; nil: there is something else in its place.
private func decoded(_ object: JSONValue, _ name: Literal) -> Bytes? {
  guard let value = object.member(name) else { return [] }
  return value.text.flatMap { bytes(base64: $0[...]) }
}

/// A number that is left out where it is 0; nil: there is something else in its place.
private func number(_ object: JSONValue, _ name: Literal) -> UInt64? {
  guard let value = object.member(name) else { return 0 }
  return value.number
}

/// A flag that is left out where it is false; nil: there is something else in its place.
private func flag(_ object: JSONValue, _ name: Literal) -> Bool? {
  guard let value = object.member(name) else { return false }
  if case .flag(let flag) = value { return flag }
  return nil
}

/// Other answers of the gateway. Each is nil unless it is well-formed and complete.
public enum EtcdAnswer {
  /// The lease that was granted, and for how many seconds; never for fewer than were asked.
  public static func lease(_ body: Bytes, seconds: UInt64) -> UInt64? {
    guard let answer = JSONValue(body), let id = answer.member("ID")?.number, id > 0,
      let granted = answer.member("TTL")?.number, granted >= seconds, answer.member("error") == nil
    else { return nil }
    return id
  }

  /// Seconds; 0: it is over.
  public static func timeLeft(_ body: Bytes) -> UInt64? {
    guard let answer = JSONValue(body), answer.member("header") != nil, answer.member("error") == nil else {
      return nil
    }
    guard let left = answer.member("TTL") else { return 0 }
    if left == .string(Bytes(text: "-1")) { return 0 }
    return left.number
  }

  /// For `Authorization`: visible characters only, at most 2,048. One that etcd signed with RSA has hundreds of them.
  public static func token(_ body: Bytes) -> Bytes? {
    guard let token = JSONValue(body)?.member("token")?.text, isToken(token) else { return nil }
    return token
  }

  public static func isToken(_ text: Bytes) -> Bool {
    (1...2_048).contains(text.count) && text.allSatisfy { (0x21...0x7e).contains($0) }
  }

  /// The request's token is none any more: gRPC's code 16, "unauthenticated"; or it is signed, and etcd's accounts have
  /// changed since, which is an "invalid argument" like any other except for its text.
  public static func wantsToken(_ response: HTTPResponse) -> Bool {
    guard response.status != 200, let error = JSONValue(response.body) else { return false }
    switch error.member("code")?.number {
    case 16: return true
    case 3:
      let text = (error.member("message") ?? error.member("error"))?.text ?? []
      return text[...].spells("etcdserver: revision of auth store is old")
    default: return false
    }
  }
}
