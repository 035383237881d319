internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodeVault

/// The accounts that have a record, in the order of their keys, read a page at a time: however many there are, one page is
/// in memory. An account's other keys follow its record's: "/" comes before all that a name in hexadecimal contains.
///                                                                                             FleetListTests
public struct FleetList<Etcd: EtcdStore>: ~Copyable {
  /// Keys of a page. etcd counts all that follow for each page, so pages are large. If one is too large for an answer, it
  /// is asked for again as a smaller one, and those that follow are smaller, too.
  static var mostKeys: UInt64 { 1_000 }
  private static var leastKeys: UInt64 { 50 }

  private let fleet: FleetVault<Etcd>
  private var limit = mostKeys
  private var page: [EtcdEntry] = []
  private var position = 0
  /// The key at which the next page begins; nil after the last page.
  private var first: Bytes? = FleetKeys.accounts

  public init(_ fleet: FleetVault<Etcd>) throws(Fault) {
    self.fleet = fleet
    try fleet.checkEpoch()
  }

  /// The report of the next account; nil at the end of the list.
  public mutating func next() throws(Fault) -> FleetReport? {
    while let entry = try peek() {
      position += 1
      guard let account = FleetKeys.account(entry.key) else { continue }
      guard let record = FleetRecord(entry.value, account: account, recordCodec) else {
        throw Fault(.damagedRecord, path: entry.key, name: account)
      }
      var (wait, code): (EtcdEntry?, EtcdEntry?) = (nil, nil)
      let others = entry.key + Bytes(text: "/")
      while let other = try peek(), other.key.starts(with: others) {
        if other.key == FleetKeys.wait(account) { wait = other }
        if other.key == FleetKeys.code(account) { code = other }
        position += 1
      }
      return try fleet.report(account, record, wait, code)
    }
    return nil
  }

  private mutating func peek() throws(Fault) -> EtcdEntry? {
    if position < page.count { return page[position] }
    guard let start = first else { return nil }
    let (entries, count) = try read(from: start)
    (page, position) = (entries, 0)
    first = count > UInt64(entries.count) ? entries.last.map { $0.key + [0] } : nil
    return entries.first
  }

  private mutating func read(from start: Bytes) throws(Fault) -> ([EtcdEntry], count: UInt64) {
    while limit >= Self.leastKeys {
      let question = EtcdTransaction([.list(from: start, prefix: FleetKeys.accounts, limit: limit)])
      if let outcome = try fleet.commit(question), outcome.succeeded,
        case .entries(let entries, let count)? = outcome.results.first
      {
        return (entries, count)
      }
      limit /= 2
    }
    throw Fault.noEtcd
  }
}
