internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What came of a charge.
enum Charging {
  case charged(FleetCharge)
  /// What was read has changed, so nothing was recorded. This is the new state.
  case refused(FleetState)
  /// The charge got no answer, and was fenced: the request can't arrive any more.
  case fenced
}

/// The result of sending a charge.
private enum Sent {
  /// `isFound`: its answer was lost, and the fence has found it.
  case recorded(revision: UInt64, isFound: Bool)
  case refused(FleetState)
  case fenced
}

/// An attempt that was counted as a failure, until it turns out to be right.
struct FleetCharge {
  let id: Bytes
  /// The record with the charge, and the revision in which etcd has it.
  let record: FleetRecord
  let revision: UInt64
  /// The record before the charge.
  let before: Record
  let station: StationCharge
  /// The lease of what lasts as long as the attempt.
  let busy: AttemptLease
  /// The delay that this charge starts, if the schedule has one.
  var delay: FleetDelay?
}

/// A delay that a charge starts.
struct FleetDelay {
  /// The delay's length by the schedule.
  let seconds: UInt64
  /// The lease of the key `wait`, which lasts as long as the delay.
  let lease: UInt64
}

/// The counts of a workstation, of one account and of strangers there, after a charge.
///
/// All are written in the same transactions, and each transaction depends on the revision of the workstation's count.
struct StationCharge {
  let count: StationCount
  let lease: UInt64
  let own: StationCount
  /// nil: not a stranger's attempt.
  let strangers: StationCount?
  /// The workstation's owners before the charge.
  let owners: KnownOwners
  /// The window's lease, which its first attempt brought. A full count has a lease of its own (`lease`).
  let windowLease: UInt64
  /// The same lease, if this attempt begins the window; nil: another one began it.
  let first: AttemptLease?
}

extension FleetLogin where Etcd: EtcdStore {
  /// Records this attempt as a failure, until it turns out to be none, with everything that follows from that.
  ///
  /// - Throws: a fault if it isn't known whether it was recorded.
  func charge(
    _ record: FleetRecord, _ state: FleetState, _ more: [EtcdTransaction.Condition] = []
  ) throws(Fault) -> Charging {
    let charged = charged(record)
    let id = charged.record.attemptID
    let station = try count(state)
    let busy = try fleet.lease(.attempt, isNew: charges.isUnsure)
    var transaction = transaction(charged, state, station, busy.number)
    transaction.conditions += more
    var delay: FleetDelay?
    if case .seconds(let seconds) = fleet.options.lockout.delay(after: charged.record.ledger.failures) {
      let wait = try fleet.lease(seconds: seconds + Self.leaseMargin)
      transaction.actions.append(.put(FleetKeys.wait(account), value: id, lease: wait))
      delay = FleetDelay(seconds: seconds, lease: wait)
    }
    let (revision, isFound): (UInt64, Bool)
    switch try send(transaction, id, record, state) {
    case .recorded(let number, let afterwards): (revision, isFound) = (number, afterwards)
    case .refused(let now):
      // For the next try.
      if now.busy?.value != id { fleet.keep([busy, station.first]) }
      return .refused(now)
    case .fenced: return .fenced
    }
    var charge = FleetCharge(
      id: id, record: charged, revision: revision, before: record.record, station: station, busy: busy)
    do throws(Fault) {
      if let delay { charge.delay = try hold(delay, charge) }
      if isFound || delay != nil { try checkTime(busy.number, least: isFound ? Self.hashSeconds : 1) }
      return .charged(charge)
    } catch {
      release(charge, nil)
      throw error
    }
  }

  /// Sends a charge, once, and finds out what became of it.
  private func send(
    _ charge: EtcdTransaction, _ id: Bytes, _ record: FleetRecord, _ read: FleetState
  ) throws(Fault) -> Sent {
    charges.mayBeThere = true
    guard let outcome = try fleet.commit(charge) else {
      charges.isUnsure = true
      return try fence(id, record, read).map { .recorded(revision: $0, isFound: true) } ?? .fenced
    }
    if outcome.succeeded { return .recorded(revision: outcome.origin.revision, isFound: false) }
    // It was sent once. If it arrived twice all the same, the first one counts.
    let now = try fleet.state(outcome, account)
    if now.record?.record.attemptID == id { return .recorded(revision: now.revision, isFound: false) }
    charges.mayBeThere = false
    return .refused(now)
  }

  private func charged(_ record: FleetRecord) -> FleetRecord {
    var charged = record
    charged.record.ledger = record.record.ledger.charged(at: .never)
    charged.record.times.failure = vault.clock.wall()
    charged.record.failureService = service
    charged.record.attemptID = randomBytes(Record.attemptIDLength, vault.sodium)
    return charged
  }

  /// Writes the charge, on condition that what was read is still so; else it asks for the new state.
  ///
  /// - Parameter busy: the lease of what lasts as long as the attempt.
  private func transaction(
    _ charged: FleetRecord, _ state: FleetState, _ station: StationCharge, _ busy: UInt64
  ) -> EtcdTransaction {
    var transaction = EtcdTransaction(
      if: [
        .unchanged(FleetKeys.record(account), revision: state.revision),
        .unchanged(FleetKeys.wait(account), revision: 0), .unchanged(FleetKeys.busy(account), revision: 0),
        .unchanged(FleetKeys.station(workstation), revision: state.stationEntry?.modified ?? 0),
        .unchanged(FleetKeys.epoch, revision: state.epochRevision),
      ],
      [
        .put(FleetKeys.record(account), value: charged.encoded(recordCodec), lease: 0),
        .put(FleetKeys.busy(account), value: charged.record.attemptID, lease: busy),
        .put(FleetKeys.flight(workstation, charged.record.attemptID), value: [], lease: busy),
        .put(FleetKeys.station(workstation), value: station.count.encoded, lease: station.lease),
        .put(
          FleetKeys.station(workstation, account: account), value: station.own.encoded,
          lease: station.windowLease),
      ], otherwise: FleetState.questions(account, workstation))
    if let strangers = station.strangers {
      transaction.actions.append(
        .put(FleetKeys.strangers(workstation), value: strangers.encoded, lease: station.windowLease))
    }
    return transaction
  }

  /// The counts including this attempt. The last one that the workstation is allowed starts another hour.
  private func count(_ state: FleetState) throws(Fault) -> StationCharge {
    let hour = StationCount.seconds + Self.leaseMargin
    let isStranger = isStranger(state)
    guard let station = state.station, let entry = state.stationEntry else {
      let first = StationCount(failures: 1, window: randomBytes(StationCount.windowLength, vault.sodium))
      let lease = try fleet.lease(.count, isNew: charges.isUnsure)
      return StationCharge(
        count: first, lease: lease.number, own: first, strangers: isStranger ? first : nil,
        owners: state.owners, windowLease: lease.number, first: lease)
    }
    let count = station.next
    let first = StationCount(failures: 1, window: count.window)
    let lease = count.failures >= fleet.options.stationLimit ? try fleet.lease(seconds: hour) : entry.lease
    return StationCharge(
      count: count, lease: lease, own: state.ownCount?.next ?? first,
      strangers: isStranger ? state.strangers?.next ?? first : nil, owners: state.owners,
      windowLease: entry.lease, first: nil)
  }

  /// Lets the next attempt begin, where settling hasn't; if that fails, leases do it. Records a wrong passcode, and that
  /// the account had one. That has a lease of its own, because the workstation's hour may be nearly over.
  func release(_ charge: FleetCharge, _ digest: Bytes?, isWrong: Bool = false) {
    var transaction = EtcdTransaction(
      if: [.holds(FleetKeys.busy(account), value: charge.id)],
      [.delete(FleetKeys.busy(account)), .delete(FleetKeys.flight(workstation, charge.id))],
      otherwise: [.delete(FleetKeys.flight(workstation, charge.id))])
    if let digest, let lease = try? fleet.lease(seconds: Self.lastSeconds) {
      transaction.actions.append(.put(FleetKeys.last(account), value: digest, lease: lease))
    }
    if isWrong, let lease = try? fleet.lease(seconds: StationCount.seconds) {
      transaction.actions.append(.put(FleetKeys.wrong(account), value: [], lease: lease))
    }
    if (try? fleet.commit(transaction)) != nil { charges.emptied.append(charge.busy) }
  }
}

// What keeps a delay from being shorter than it says; the argument is in FleetLogin.swift.

extension FleetLogin where Etcd: EtcdStore {
  private static var mostLeases: Int { 3 }

  /// Makes sure that `wait` stays for the whole delay, counted from the charge, which is recorded by now.
  ///
  /// - Returns: the delay, with the lease that `wait` has in the end.
  /// - Throws: a fault if that can't be known: then nothing may be hashed.
  func hold(_ delay: FleetDelay, _ charge: FleetCharge) throws(Fault) -> FleetDelay {
    var delay = delay
    for _ in 0..<Self.mostLeases {
      if try fleet.secondsLeft(delay.lease) >= delay.seconds { return delay }
      delay = FleetDelay(
        seconds: delay.seconds, lease: try fleet.lease(seconds: delay.seconds + Self.leaseMargin))
      let renewal = EtcdTransaction(
        if: [.unchanged(FleetKeys.record(account), revision: charge.revision)],
        [.put(FleetKeys.wait(account), value: charge.id, lease: delay.lease)])
      // Carried out late, it makes the delay longer: no one has charged then.
      guard let outcome = try fleet.commit(renewal) else { throw Fault.noEtcd }
      guard outcome.succeeded else { throw Fault(.changedMeanwhile) }
    }
    throw Fault.noEtcd
  }

  /// What a wrong passcode has led to. A delay is told as it is now: the hash took its time.
  func standing(_ charge: FleetCharge) -> Standing {
    let standing = fleet.schedule(after: charge.record.record.ledger.failures)
    guard let delay = charge.delay, let left = fleet.etcd.timeLeft(delay.lease) else { return standing }
    return .locked(milliseconds: min(max(left, 1), delay.seconds) * 1_000)
  }
}
