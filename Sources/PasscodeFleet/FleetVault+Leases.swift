internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// Keeps a change of etcd's leader from starting delays, counts and one-time codes anew: after one, etcd gives each lease its
// whole time again. So what is left of a lease is noted beside it (`LeaseNote`), by every server's timer, each minute or
// after a thirtieth of the lease, at most an hour. After a change of leader its keys move to a fresh one with what was noted.
//
// No delay ends early, however many servers do this at once, and however late what they send arrives:
//
// - What was left at some moment is at least what is left later. It is rounded up, nothing is subtracted from it, and no
//   clock is asked. A note is of one lease, and no lease's number comes again.
// - A key moves only if it is still in the revision in which it was read; so it moves once. The old lease is never revoked:
//   it ends by itself, and so does one that was granted for nothing.
// - Where an attempt is under way, nothing is noted or moved. It may be making sure that its delay's lease is long enough,
//   and what was left before that says nothing (FleetLogin.swift). It verifies nothing if its `busy` ends before that.
//
// A leader that changes more often than the timer runs can still make a delay longer.                   FleetLeaseTests

extension FleetVault {
  /// Milliseconds for all leases; the others' turn comes in another minute.
  private static var longest: UInt64 { 15_000 }
  /// Keys of a lease: a transaction of etcd's has 128 operations.
  private static var mostKeys: Int { 60 }

  /// Notes what is left of each lease that matters, and moves the keys of those that have started anew.
  func keepLeases() {
    guard let leases = etcd.leases(), !leases.isEmpty, let start = vault.clock.milliseconds() else { return }
    let first = Int(littleEndianNumber(randomBytes(4, vault.sodium), 0, 4)) % leases.count
    for index in leases.indices {
      guard let now = vault.clock.milliseconds(), now - start < Self.longest else { return }
      try? keep(leases[(first + index) % leases.count])
    }
  }

  private func keep(_ lease: UInt64) throws(Fault) {
    guard let found = etcd.lease(lease), found.left > 0 else { return }
    var keys: [Bytes] = []
    for key in found.keys where FleetKeys.isKept(key) { keys.append(key) }
    guard (1...Self.mostKeys).contains(keys.count), let kept = try read(keys, lease), !kept.entries.isEmpty,
      // Only now: no attempt is under way.
      let left = etcd.timeLeft(lease), (1..<1 << 32).contains(left)
    else { return }
    let note = LeaseNote(left: min(kept.noted?.left ?? .max, left + 1), term: kept.term)
    if let noted = kept.noted, noted.term != note.term {
      try move(kept.entries, note)
    } else if note.left + min(max(60, found.whole / 30), 3_600) <= kept.noted?.left ?? .max {
      _ = try commit(EtcdTransaction([put(note, lease)]))
    }
  }

  /// nil: there is no answer, or an attempt is under way that concerns one of the keys.
  private func read(
    _ keys: [Bytes], _ lease: UInt64
  ) throws(Fault) -> (entries: [EtcdEntry], noted: LeaseNote?, term: UInt64)? {
    var questions = [EtcdTransaction.Action.read(FleetKeys.left(lease))]
    for key in keys { questions += [.read(key), FleetKeys.flights(concerning: key)] }
    guard let outcome = try commit(EtcdTransaction(questions)), outcome.succeeded else { return nil }
    var entries: [EtcdEntry] = []
    for index in keys.indices {
      guard outcome.count(2 * index + 2) == 0 else { return nil }
      if let entry = outcome.entry(2 * index + 1), entry.lease == lease { entries.append(entry) }
    }
    return (entries, outcome.entry(0).flatMap { LeaseNote($0.value) }, outcome.origin.term)
  }

  private func put(_ note: LeaseNote, _ lease: UInt64) -> EtcdTransaction.Action {
    .put(FleetKeys.left(lease), value: note.encoded, lease: lease)
  }

  private func move(_ entries: [EtcdEntry], _ note: LeaseNote) throws(Fault) {
    let fresh = try lease(seconds: note.left)
    var transaction = EtcdTransaction([put(note, fresh)])
    for entry in entries {
      transaction.conditions.append(.unchanged(entry.key, revision: entry.modified))
      transaction.actions.append(.put(entry.key, value: entry.value, lease: fresh))
    }
    _ = try commit(transaction)
  }
}
