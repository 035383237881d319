public import PasscodePolicy

/// How far this server has seen etcd come, kept outside etcd: `seen`, 24 bytes, little-endian:
///
///     offset 0     cluster     8 bytes    its id
///     offset 8     revision    8 bytes    all ones, which no etcd reaches: it was behind, and is refused from then on
///     offset 16    term        8 bytes    Raft's
///
/// A cluster that was restored from a snapshot has the same id, but is behind: guesses that were charged since would be
/// refunded. Therefore a cluster that is behind what was seen, and any other cluster, MUST be refused until an
/// administrator says that it was restored; then every passcode must be unlocked. One that was behind once MUST be
/// refused even when it has come as far again.                                                     FleetTests
///
/// A new server in a fleet begins with what the others have seen ("CLUSTER:REVISION:TERM", in decimal), not with what its
/// etcd says. That MUST only raise what was seen: never to another cluster, and never to end a refusal.      FleetTests
public struct FleetSeen: Equatable, Sendable {
  public let origin: EtcdOrigin

  public static let length = 24
  /// etcd's revisions are below 2^63.
  private static let neverReached = UInt64.max
  private static let latest = UInt64.max / 2

  public init(_ origin: EtcdOrigin) {
    self.origin = origin
  }

  /// Decodes the file; nil for anything but what a server writes.
  public init?(_ bytes: Bytes) {
    guard bytes.count == FleetSeen.length else { return nil }
    origin = EtcdOrigin(
      cluster: littleEndianNumber(bytes, 0, 8), revision: littleEndianNumber(bytes, 8, 8),
      term: littleEndianNumber(bytes, 16, 8))
  }

  /// Decodes what other servers have seen; nil for anything else, and where they refuse every answer.
  public init?(text: Bytes) {
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 3, let cluster = decimal(parts[0]), let revision = decimal(parts[1]),
      let term = decimal(parts[2]), cluster > 0, (1...FleetSeen.latest).contains(revision), term > 0
    else { return nil }
    origin = EtcdOrigin(cluster: cluster, revision: revision, term: term)
  }

  public var encoded: Bytes {
    littleEndian(origin.cluster, 8) + littleEndian(origin.revision, 8) + littleEndian(origin.term, 8)
  }

  /// Whether the revision of an answer is behind. Another cluster never catches up, so it isn't; and Raft's term alone
  /// decides nothing for good: a member that wasn't elected may have had a later one.
  public func isBehind(_ answer: EtcdOrigin) -> Bool {
    answer.cluster == origin.cluster && answer.revision < origin.revision
  }

  /// What a server remembers once etcd was behind: that every answer is to be refused.
  public var refusingAll: FleetSeen {
    FleetSeen(EtcdOrigin(cluster: origin.cluster, revision: FleetSeen.neverReached, term: origin.term))
  }

  /// Whether no answer will do: `refusingAll` was kept.
  public var refusesAll: Bool { origin.revision == FleetSeen.neverReached }

  /// What to keep where other servers have seen that much: the higher of each. nil: they have another cluster.
  public func raised(to other: FleetSeen) -> FleetSeen? {
    guard other.origin.cluster == origin.cluster else { return nil }
    return FleetSeen(
      EtcdOrigin(
        cluster: origin.cluster, revision: max(origin.revision, other.origin.revision),
        term: max(origin.term, other.origin.term)))
  }

  /// What to keep after this answer; nil: it comes from another cluster, or from the past.
  public func next(_ answer: EtcdOrigin) -> FleetSeen? {
    guard answer.cluster == origin.cluster, answer.revision >= origin.revision, answer.term >= origin.term
    else {
      return nil
    }
    return FleetSeen(answer)
  }
}
