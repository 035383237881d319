public import PasscodePolicy

/// What is asked of etcd: a transaction of its JSON gateway (`POST /v3/kv/txn`), which is carried out whole or not at all.
///
/// Keys and values are base64, and 64-bit numbers are strings.                                EtcdTests
public struct EtcdTransaction: Equatable, Sendable {
  public enum Condition: Equatable, Sendable {
    /// The key was last written in this revision; 0: it isn't there.
    case unchanged(Bytes, revision: UInt64)
    /// The key is there, and has this value.
    case holds(Bytes, value: Bytes)
  }

  public enum Action: Equatable, Sendable {
    case read(Bytes)
    /// Counts the keys that begin with the prefix, which ends with "/".
    case count(prefix: Bytes)
    /// The keys and values from one key on, up to the end of a prefix; so many at most.
    case list(from: Bytes, prefix: Bytes, limit: UInt64)
    /// - Parameter lease: the key goes with it; 0: it stays.
    case put(Bytes, value: Bytes, lease: UInt64)
    case delete(Bytes)
  }

  public var conditions: [Condition]
  public var actions: [Action]
  /// Carried out if a condition isn't met.
  public var otherwise: [Action]

  public init(if conditions: [Condition] = [], _ actions: [Action], otherwise: [Action] = []) {
    self.conditions = conditions
    self.actions = actions
    self.otherwise = otherwise
  }

  /// The request's JSON.
  public var body: Bytes {
    let compare = list(conditions) { $0.json }
    return Text(
      "{\"compare\":\(compare),\"success\":\(list(actions) { $0.json }),\"failure\":\(list(otherwise) { $0.json })}"
    ).bytes
  }

  @inline(never)
  private func list<Item>(_ items: [Item], _ json: (Item) -> Text) -> Text {
    var text: Text = "["
    for index in items.indices {
      if index > 0 { text += "," }
      text += json(items[index])
    }
    return text + "]"
  }
}

extension EtcdTransaction.Condition {
  fileprivate var json: Text {
    switch self {
    case .unchanged(let key, let revision):
      "{\"key\":\"\(base64(key))\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"\(revision)\"}"
    case .holds(let key, let value):
      "{\"key\":\"\(base64(key))\",\"target\":\"VALUE\",\"result\":\"EQUAL\",\"value\":\"\(base64(value))\"}"
    }
  }
}

extension EtcdTransaction.Action {
  fileprivate var json: Text {
    switch self {
    case .read(let key): "{\"request_range\":{\"key\":\"\(base64(key))\"}}"
    case .count(let prefix):
      """
      {"request_range":{"key":"\(base64(prefix))","range_end":"\(base64(endOfPrefix(prefix)))","count_only":true}}
      """
    case .list(let first, let prefix, let limit):
      """
      {"request_range":{"key":"\(base64(first))","range_end":"\(base64(endOfPrefix(prefix)))","limit":"\(limit)"}}
      """
    case .put(let key, let value, let lease):
      """
      {"request_put":{"key":"\(base64(key))","value":"\(base64(value))","lease":"\(lease)"}}
      """
    case .delete(let key): "{\"request_delete_range\":{\"key\":\"\(base64(key))\"}}"
    }
  }
}

/// The first key after all keys that begin with the prefix.
///
/// - Precondition: its last byte isn't 255.
private func endOfPrefix(_ prefix: Bytes) -> Bytes {
  prefix.dropLast() + [(prefix.last ?? 0) + 1]
}

/// Requests besides transactions: leases, and etcd's own accounts.
public enum EtcdRequest {
  /// `POST /v3/lease/grant`
  public static func grant(seconds: UInt64) -> Bytes { Text("{\"TTL\":\"\(seconds)\"}").bytes }
  /// `POST /v3/lease/timetolive` and `POST /v3/lease/revoke`
  public static func timeLeft(_ lease: UInt64) -> Bytes { Text("{\"ID\":\"\(lease)\"}").bytes }
  /// `POST /v3/lease/timetolive`, for the keys of a lease, too
  public static func lease(_ lease: UInt64) -> Bytes { Text("{\"ID\":\"\(lease)\",\"keys\":true}").bytes }
  /// `POST /v3/maintenance/status`, `POST /v3/cluster/member/list` and `POST /v3/lease/leases`
  public static let nothing = Bytes(text: "{}")
  /// `POST /v3/auth/authenticate`
  public static func authenticate(name: Bytes, password: Bytes) -> Bytes {
    Text("{\"name\":\"\(jsonEscaped(name))\",\"password\":\"\(jsonEscaped(password))\"}").bytes
  }
}
