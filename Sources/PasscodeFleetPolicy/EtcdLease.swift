public import PasscodePolicy

/// A lease, as etcd tells it (`POST /v3/lease/timetolive` with `keys`).
public struct EtcdLease: Equatable, Sendable {
  /// Seconds that are left, rounded down; 0: it is over.
  public let left: UInt64
  /// Seconds for which it was granted; after a change of etcd's leader it starts with them again.
  public let whole: UInt64
  /// The keys that etcd deletes when the lease ends.
  public let keys: [Bytes]
}

extension EtcdLease {
  /// nil if there is any doubt.
  public init?(_ body: Bytes) {
    guard let answer = JSONValue(body), let left = EtcdAnswer.timeLeft(body) else { return nil }
    self.init(left: left, whole: answer.member("grantedTTL")?.number ?? 0, keys: [])
    guard left > 0, let items = answer.member("keys") else { return }
    guard let items = items.items else { return nil }
    var keys: [Bytes] = []
    for item in items {
      guard let text = item.text, let key = bytes(base64: text[...]), !key.isEmpty else { return nil }
      keys.append(key)
    }
    self.init(left: left, whole: whole, keys: keys)
  }

  /// The numbers of all leases, as etcd lists them; nil if there is any doubt.
  public static func all(_ body: Bytes) -> [UInt64]? {
    guard let answer = JSONValue(body), answer.member("header") != nil, answer.member("error") == nil else {
      return nil
    }
    guard let list = answer.member("leases") else { return [] }
    guard let items = list.items else { return nil }
    var leases: [UInt64] = []
    for item in items {
      guard let id = item.member("ID")?.number, id > 0 else { return nil }
      leases.append(id)
    }
    return leases
  }
}

/// What was left of a lease (`FleetKeys.left`):
///
///     left=3541                    seconds, rounded up
///     term=7                       etcd's, when that was read: another one later means another leader
public struct LeaseNote: Equatable, Sendable {
  public let left: UInt64
  public let term: UInt64

  public init(left: UInt64, term: UInt64) {
    self.left = left
    self.term = term
  }

  /// nil if there is any doubt.
  public init?(_ value: Bytes) {
    var lines = FleetLines(value)
    guard let left = lines.number("left"), let term = lines.number("term"), lines.rest.isEmpty else {
      return nil
    }
    self.init(left: left, term: term)
  }

  public var encoded: Bytes { Text("left=\(left)\nterm=\(term)\n").bytes }
}
