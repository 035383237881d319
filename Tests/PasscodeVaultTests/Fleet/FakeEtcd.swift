import Foundation
import PasscodePolicy

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// An etcd in memory: revisions, conditions and leases as etcd has them. Answers can be lost, and requests, and a request
/// can arrive late.
final class FakeEtcd: EtcdStore, @unchecked Sendable {
  enum Mishap {
    /// Carried out; the answer is lost.
    case lost
    /// Never arrives.
    case cut
    /// Carried out only after the next request, and nobody hears of it.
    case late
  }

  /// What is asked of it.
  enum Request {
    case transaction(EtcdTransaction)
    case lease, timeLeft
  }

  /// What becomes of a request and its answer.
  enum Fate: Equatable {
    case answered
    /// Carried out, or not; no answer comes.
    case lost, cut
    /// Carried out twice; the second answer comes.
    case doubled
    /// No answer comes, and it is carried out only with `deliverHeld`. A lease or a question: as cut.
    case late
  }

  /// Transactions that are late, by `gate`.
  private(set) var held: [EtcdTransaction] = []

  fileprivate struct Entry: Equatable {
    var value: Bytes
    var modified: UInt64
    var lease: UInt64
  }

  private let lock = NSRecursiveLock()
  private var entries: [Bytes: Entry] = [:]
  /// When each ends, in milliseconds, and for how many seconds it was granted.
  private var ends: [UInt64: UInt64] = [:]
  private var granted: [UInt64: UInt64] = [:]
  private var late: [EtcdTransaction] = []
  private(set) var revision: UInt64 = 1
  var term: UInt64 = 2
  var cluster: UInt64 = 9
  /// Milliseconds.
  var now: () -> UInt64
  /// Called before each request, by whoever makes it: what becomes of it.
  var gate: (Request) -> Fate = { _ in .answered }
  /// Called after each transaction that was carried out and wrote something: it, and whether its conditions were met.
  var after: (EtcdTransaction) -> Void = { _ in }
  /// What happens to a transaction that writes; asked for each, in their order.
  var mishap: (EtcdTransaction) -> Mishap? = { _ in nil }
  /// Called before a transaction that writes or deletes is carried out: what others do meanwhile.
  var before: (EtcdTransaction) -> Void = { _ in }
  /// Called before a lease's time to live is told.
  var beforeTimeLeft: () -> Void = {}
  /// What becomes of a transaction before it is carried out.
  var alter: (EtcdTransaction) -> EtcdTransaction = { $0 }
  /// What is told of a lease's time to live.
  var alterTimeLeft: (UInt64) -> UInt64 = { $0 }
  var isDown = false
  var isFull = false
  /// Keys of an answer that isn't too long for who asked; nil: however many.
  var mostListed: Int?
  private(set) var writes = 0
  /// Transactions, also those that only read.
  private(set) var requests = 0

  init(now: @escaping () -> UInt64) {
    self.now = now
  }

  func commit(_ transaction: EtcdTransaction) -> EtcdOutcome? {
    let isWrite = transaction.actions.contains { if case .put = $0 { true } else { false } }
    let isDelete = transaction.actions.contains { if case .delete = $0 { true } else { false } }
    if isWrite || isDelete { before(transaction) }
    let fate = gate(.transaction(transaction))
    if isDown || fate == .cut { return nil }
    let transaction = alter(transaction)
    return lock.withLock {
      requests += 1
      if fate == .late { held.append(transaction) }
      if fate == .late { return nil }
      if fate == .doubled { _ = carryOut(transaction) }
      if fate == .lost { _ = carryOut(transaction) }
      if fate == .lost { return nil }
      defer {
        if !isWrite || late.count > 1 { deliver() }
      }
      guard isWrite, let mishap = mishap(transaction) else { return carryOut(transaction) }
      switch mishap {
      case .cut: break
      case .late: late.append(transaction)
      case .lost: _ = carryOut(transaction)
      }
      return nil
    }
  }

  func grantLease(seconds: UInt64) -> UInt64? {
    let fate = gate(.lease)
    if isDown || fate == .cut || fate == .late || fate == .lost { return nil }
    return lock.withLock {
      let id = UInt64(ends.count + 1)
      ends[id] = now() + seconds * 1_000
      granted[id] = seconds
      return id
    }
  }

  func timeLeft(_ lease: UInt64) -> UInt64? {
    beforeTimeLeft()
    let fate = gate(.timeLeft)
    if isDown || fate == .cut || fate == .late || fate == .lost { return nil }
    return lock.withLock {
      guard let end = ends[lease], end > now() else { return 0 }
      return alterTimeLeft((end - now()) / 1_000)
    }
  }

  func endLease(_ lease: UInt64) {
    let fate = gate(.lease)
    if isDown || fate == .cut || fate == .late { return }
    lock.withLock {
      expire()
      ends[lease] = now()
      expire()
    }
  }

  func leases() -> [UInt64]? {
    isDown ? nil : lock.withLock { ends.filter { $0.value > now() }.keys.sorted() }
  }

  func lease(_ lease: UInt64) -> EtcdLease? {
    guard let left = timeLeft(lease) else { return nil }
    return lock.withLock {
      expire()
      let keys = entries.filter { $0.value.lease == lease }.keys
      return EtcdLease(left: left, whole: granted[lease] ?? 0, keys: Array(keys))
    }
  }

  /// Each lease that has ended takes its keys with it, in a revision of its own.
  private func expire() {
    let ended = entries.filter { $0.value.lease != 0 && ends[$0.value.lease, default: 0] <= now() }
    for key in ended.keys { entries[key] = nil }
    revision += UInt64(Set(ended.values.map(\.lease)).count)
  }

  private func carryOut(_ transaction: EtcdTransaction) -> EtcdOutcome? {
    expire()
    let isMet = transaction.conditions.allSatisfy {
      switch $0 {
      case .unchanged(let key, let revision): entries[key]?.modified ?? 0 == revision
      case .holds(let key, let value): entries[key]?.value == value
      }
    }
    let actions = isMet ? transaction.actions : transaction.otherwise
    for case .list(_, _, let limit) in actions where limit > mostListed ?? .max { return nil }
    for case .put(_, _, let lease) in actions where lease != 0 && ends[lease, default: 0] <= now() {
      return nil
    }
    let isWrite = actions.contains {
      if case .put = $0 { true } else if case .delete = $0 { true } else { false }
    }
    if isWrite { writes += 1 }
    if actions.contains(where: changes) { revision += 1 }
    let results = actions.map { result($0) }
    if isMet, isWrite { after(transaction) }
    return EtcdOutcome(
      succeeded: isMet, origin: EtcdOrigin(cluster: cluster, revision: revision, term: term), results: results
    )
  }

  /// What deletes nothing makes no revision.
  private func changes(_ action: EtcdTransaction.Action) -> Bool {
    switch action {
    case .put: true
    case .delete(let key): entries[key] != nil
    case .read, .count, .list: false
    }
  }

  private func result(_ action: EtcdTransaction.Action) -> EtcdOutcome.Result {
    switch action {
    case .read(let key):
      let found = entry(key).map { [$0] } ?? []
      return .entries(found, count: UInt64(found.count))
    case .count(let prefix):
      return .entries([], count: UInt64(entries.keys.filter { $0.starts(with: prefix) }.count))
    case .list(let first, let prefix, let limit):
      let keys = entries.keys.filter { $0.starts(with: prefix) && !$0.lexicographicallyPrecedes(first) }
        .sorted { $0.lexicographicallyPrecedes($1) }
      return .entries(keys.prefix(Int(limit)).compactMap { entry($0) }, count: UInt64(keys.count))
    case .put(let key, let value, let lease):
      entries[key] = Entry(value: value, modified: revision, lease: lease)
    case .delete(let key): entries[key] = nil
    }
    return .done
  }

  private func entry(_ key: Bytes) -> EtcdEntry? {
    entries[key].map { EtcdEntry(key: key, value: $0.value, modified: $0.modified, lease: $0.lease) }
  }

  // MARK: For tests

  /// How many keys end with a lease.
  func keys(under lease: UInt64) -> Int {
    lock.withLock { entries.values.count { $0.lease == lease } }
  }

  /// What was late arrives.
  func deliver() {
    lock.withLock {
      for waiting in late { _ = carryOut(waiting) }
      late = []
    }
  }

  func value(_ key: Bytes) -> Bytes? {
    lock.withLock {
      expire()
      return entries[key]?.value
    }
  }

  /// Overwrites a value, as nobody's act.
  func set(_ key: Bytes, _ value: Bytes) {
    lock.withLock {
      revision += 1
      entries[key] = Entry(value: value, modified: revision, lease: 0)
    }
  }

  /// Each lease that isn't over has its whole time again.
  func changeLeader() {
    lock.withLock {
      expire()
      term += 1
      for (lease, end) in ends where end > now() {
        ends[lease] = now() + granted[lease, default: 0] * 1_000
      }
    }
  }

  /// The lease of a key; 0: it has none, or isn't there.
  func lease(of key: Bytes) -> UInt64 { lock.withLock { entries[key]?.lease ?? 0 } }

  /// Moves the keys of a lease to a fresh one, and ends it; writes another key again.
  func replace(_ lease: UInt64, seconds: UInt64, rewriting other: Bytes? = nil) {
    let fresh = grantLease(seconds: seconds) ?? 0
    lock.withLock {
      revision += 1
      for (key, entry) in entries where entry.lease == lease {
        entries[key] = Entry(value: entry.value, modified: revision, lease: fresh)
      }
      ends[lease] = 0
      if let other { entries[other]?.modified = revision }
    }
  }

  /// Deletes a key, as nobody's act.
  func forget(_ key: Bytes) {
    lock.withLock { entries[key] = nil }
  }

  /// The first that is late arrives.
  func deliverHeld() {
    lock.withLock { if !held.isEmpty { _ = carryOut(held.removeFirst()) } }
  }

  /// All that it knows but the revision, which never goes back.
  struct Content {
    fileprivate let entries: [Bytes: Entry]
    fileprivate let ends: [UInt64: UInt64]
    fileprivate let granted: [UInt64: UInt64]
  }

  var content: Content {
    get { Content(entries: entries, ends: ends, granted: granted) }
    set { (entries, ends, granted, held) = (newValue.entries, newValue.ends, newValue.granted, []) }
  }

  struct Snapshot {
    fileprivate let entries: [Bytes: Entry]
    let revision: UInt64
  }

  var snapshot: Snapshot { Snapshot(entries: entries, revision: revision) }

  func restore(_ snapshot: Snapshot) {
    (entries, revision, term) = (snapshot.entries, snapshot.revision, 2)
  }
}
