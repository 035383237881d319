public import PasscodePolicy

/// What a member of etcd says of itself: `POST /v3/maintenance/status`.                           EtcdHealthTests, FuzzEtcd
public struct EtcdHealth: Equatable, Sendable {
  /// Bytes of its database.
  public let size: UInt64
  /// Whether the member of etcd knows of a leader.
  public let hasLeader: Bool
  /// The last entry of Raft's log that this member knows to be on a majority's disks, and the last one that it has applied.
  public let committed, applied: UInt64
  /// Raft's term: each election raises it.
  public let term: UInt64
  /// What it complains of, such as an alarm; at most 512 bytes of each.
  public let complaints: [Bytes]

  /// nil unless the input is well-formed and complete.
  public init?(_ body: Bytes) {
    guard let answer = JSONValue(body), answer.member("header") != nil,
      let size = answer.member("dbSize")?.number
    else { return nil }
    self.size = size
    hasLeader = answer.member("leader")?.number ?? 0 > 0
    committed = answer.member("raftIndex")?.number ?? 0
    applied = answer.member("raftAppliedIndex")?.number ?? 0
    term = answer.member("raftTerm")?.number ?? 0
    let errors = answer.member("errors")?.items ?? []
    complaints = errors.map { Bytes(($0.text ?? Bytes(text: "?")).prefix(512)) }
  }

  /// Whether the alarm NOSPACE is on.
  public var isFull: Bool {
    complaints.contains { $0[...].trimmed().suffix(7).spells("NOSPACE") }
  }

  /// The names of the members: `POST /v3/cluster/member/list`; nil unless it is well-formed and complete. One that was never started has
  /// none yet.
  public static func members(_ body: Bytes) -> [Bytes]? {
    guard let items = JSONValue(body)?.member("members")?.items, !items.isEmpty else { return nil }
    return items.map { $0.member("name")?.text ?? [] }
  }

  /// Bytes that a database may have, by the lines of `/etc/default/etcd`; without one, etcd's own limit.
  public static func quota(settings: Bytes) -> UInt64 {
    let usual: UInt64 = 2 << 30
    var quota = usual
    for line in settings[...].parts(between: UInt8(ascii: "\n"))
    where line.begins(with: "ETCD_QUOTA_BACKEND_BYTES=") {
      let value = line.dropFirst(25).filter { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }
      quota = decimal(value[...].trimmed()) ?? usual
    }
    return quota == 0 ? usual : quota
  }
}
