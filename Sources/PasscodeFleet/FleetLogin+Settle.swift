internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeVault

extension FleetLogin where Etcd: EtcdStore {
  /// How often charging or settling is tried again because the workstation's count has changed meanwhile.
  static var mostRounds: Int { 64 }

  /// What the record says after a settling that was refused, or not acknowledged.
  private enum Found {
    /// No failure is left: by that very settling, or by another one since.
    case settled
    /// The record is unchanged since this attempt charged it.
    case charged
    /// Another attempt has charged the record since: that failure must stay.
    case chargedSince
    case refused(Verdict)
  }

  /// Takes the charge back, by compare-and-set. Where that can't be done, or isn't acknowledged, the charge stays.
  ///
  /// - Returns: a refusal if the passcode is no longer the one that was verified.
  func settle(_ charge: FleetCharge) -> Verdict? {
    let (isSettled, refusal) = trySettling(charge)
    if !isSettled { release(charge, nil) }
    if !isSettled && refusal == nil {
      vault.log(Fault(.notReset, name: account, number: UInt64(FleetRecord.uid)))
    }
    return refusal
  }

  private func trySettling(_ charge: FleetCharge) -> (isSettled: Bool, refusal: Verdict?) {
    var lost = 0
    // Usually nothing has changed since the charge.
    var mark: StationMark? = StationMark(charge)
    var owners = charge.station.owners
    for _ in 0...Self.mostRounds where lost < 2 {
      let outcome = try? fleet.commit(settling(charge, mark, owners))
      if let outcome, outcome.succeeded {
        noteEmptied(charge, mark)
        return (true, nil)
      }
      if outcome == nil { lost += 1 }
      guard let state = try? state(outcome) else { break }
      switch found(state, charge) {
      case .settled: return (true, nil)
      case .refused(let verdict): return (false, verdict)
      case .chargedSince: return (false, nil)
      case .charged: break
      }
      mark = StationMark(state, limit: fleet.options.stationLimit)
      owners = state.owners
    }
    return (false, nil)
  }

  /// The state now: a refusal contains it; where no answer came, it is read.
  private func state(_ refusal: EtcdOutcome?) throws(Fault) -> FleetState {
    if let refusal { return try fleet.state(refusal, account) }
    return try fleet.read(account, workstation)
  }

  /// The leases whose keys are deleted with the charge: the attempt's own; and the window's, if this charge was all that it
  /// counted. Whatever others would put under that one depends on the count's revision, so it is refused.
  private func noteEmptied(_ charge: FleetCharge, _ station: StationMark?) {
    charges.emptied.append(charge.busy)
    guard let station, station.count.window == charge.station.count.window, station.count.previous == nil,
      let number = station.windowLease
    else { return }
    // One that another attempt brought isn't kept: it isn't known here when it was granted.
    let first = charge.station.first.flatMap { $0.number == number ? $0 : nil }
    charges.emptied.append(first ?? AttemptLease(use: .count, number: number, since: .max))
  }

  private func found(_ state: FleetState, _ charge: FleetCharge) -> Found {
    guard let now = state.record?.record, now.state != .removed else { return .refused(.notEnrolled) }
    if now.disabled { return .refused(.disabled) }
    guard now.state == charge.record.record.state, state.record?.epoch == charge.record.epoch else {
      return .refused(.unavailable(Fault(.changedMeanwhile)))
    }
    if state.revision == charge.revision { return .charged }
    return now.ledger == .clear ? .settled : .chargedSince
  }

  private func settling(
    _ charge: FleetCharge, _ station: StationMark?, _ owners: KnownOwners
  ) -> EtcdTransaction {
    var settled = charge.record
    settled.record.ledger = .clear
    settled.record.times.failure = charge.before.times.failure
    settled.record.failureService = charge.before.failureService
    settled.record.times.success = vault.clock.wall()
    var transaction = EtcdTransaction(
      if: [.unchanged(FleetKeys.record(account), revision: charge.revision)],
      [
        .put(FleetKeys.record(account), value: settled.encoded(recordCodec), lease: 0),
        .delete(FleetKeys.wait(account)), .delete(FleetKeys.busy(account)),
        .delete(FleetKeys.flight(workstation, charge.id)),
      ], otherwise: FleetState.questions(account, workstation))
    if charge.before.ledger.failures > 0 { transaction.actions.append(.delete(FleetKeys.wrong(account))) }
    takeBackCount(&transaction, charge, station)
    noteOwner(&transaction, owners)
    return transaction
  }

  /// Adds this person to the workstation's owners, at most once a day.
  private func noteOwner(_ transaction: inout EtcdTransaction, _ known: KnownOwners) {
    guard let owners = known.owners.adding(charges.mark, today: today) else { return }
    let key = FleetKeys.owners(workstation)
    transaction.conditions.append(.unchanged(key, revision: known.revision))
    transaction.actions.append(.put(key, value: owners.encoded, lease: 0))
  }

  /// Only from the window in which it was counted: another one has counted nothing of it.
  func takeBackCount(
    _ transaction: inout EtcdTransaction, _ charge: FleetCharge, _ station: StationMark?
  ) {
    guard let station, station.count.window == charge.station.count.window else { return }
    // A full count has a lease of its own, and may outlast the window.
    let lease = station.windowLease
    let isFull = station.count.failures >= fleet.options.stationLimit
    let isOver = lease.map { isFull && fleet.etcd.timeLeft($0) == 0 } ?? true
    let key = FleetKeys.station(workstation)
    transaction.conditions.append(.unchanged(key, revision: station.revision))
    transaction.actions.append(write(key, isOver ? nil : station.count.previous, lease ?? 0))
    if let own = station.own {
      let key = FleetKeys.station(workstation, account: account)
      transaction.actions.append(write(key, isOver ? nil : own.previous, lease ?? 0))
    }
    if charge.station.strangers != nil, let strangers = station.strangers {
      let key = FleetKeys.strangers(workstation)
      transaction.actions.append(write(key, isOver ? nil : strangers.previous, lease ?? 0))
    }
  }

  private func write(_ key: Bytes, _ count: StationCount?, _ lease: UInt64) -> EtcdTransaction.Action {
    guard let count else { return .delete(key) }
    return .put(key, value: count.encoded, lease: lease)
  }
}

/// The counts of a workstation, and of the account and of strangers there, as they were at some revision.
struct StationMark {
  let count: StationCount
  let revision: UInt64
  /// The count for this account at this workstation; nil if there is none.
  let own: StationCount?
  /// The count for strangers at this workstation; nil if there is none.
  let strangers: StationCount?
  /// The lease of the counts' window: they may have moved to another one since the charge. nil: the window is over.
  let windowLease: UInt64?

  /// The workstation's counts as this attempt charged them.
  init(_ charge: FleetCharge) {
    count = charge.station.count
    revision = charge.revision
    own = charge.station.own
    strangers = charge.station.strangers
    windowLease = charge.station.windowLease
  }

  /// The workstation's counts as they are now; nil if there are none.
  init?(_ state: FleetState, limit: UInt64) {
    guard let count = state.station, let entry = state.stationEntry else { return nil }
    self.count = count
    revision = entry.modified
    own = state.ownCount
    strangers = state.strangers
    windowLease =
      count.failures >= limit ? state.ownCount.flatMap { _ in state.ownEntry?.lease } : entry.lease
  }
}
