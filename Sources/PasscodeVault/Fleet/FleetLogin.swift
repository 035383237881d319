public import PasscodePolicy
public import PasscodeSystem

// One attempt in a fleet; the MUST list is in FleetVault.swift. The order:
//
//     read → refusals → key and credential → repeated wrong passcode → hashing slot → memory → leases → charge, on
//     condition that what was read is still so → Argon2 → settle on condition that the record is still as charged
//
// No lock is held while it waits for a hashing slot, and no slot while it waits for the account's other attempts: `busy`
// is taken by the charge's own transaction, and where that is refused, it starts again.

/// A login of an account of the fleet, for a workstation that was identified.
public struct FleetLogin<Etcd: EtcdStore>: Login, ~Copyable {
  let fleet: FleetVault<Etcd>
  let account: Bytes
  let workstation: Bytes
  private let service: Bytes
  private let isSecondFactor: Bool
  /// After a granted attempt: which credential was proven.
  public private(set) var provenMark: Bytes?
  /// What a look has read, if an attempt may begin with it. The charge depends on all of it but the last wrong passcode, so
  /// it is kept only where there is none: where anything has changed since, the charge is refused, and all is read again.
  public var known: FleetState?

  /// - Parameters:
  ///   - workstation: what tells it from all others; not empty, at most 64 bytes.
  ///   - service: the PAM service there, for people.
  public init(
    _ fleet: FleetVault<Etcd>, account: Bytes, workstation: Bytes, service: Bytes,
    isSecondFactor: Bool = false
  ) {
    self.fleet = fleet
    self.account = account
    self.workstation = workstation
    self.service = Record.serviceName(service)
    self.isSecondFactor = isSecondFactor
  }

  /// Seconds after which an attempt whose process died no longer keeps others waiting.
  static var busySeconds: UInt64 { 20 }
  /// Seconds that the same wrong passcode doesn't count again.
  static var lastSeconds: UInt64 { 300 }
  /// Seconds by which a delay's lease is longer: it begins before the charge, which may take two, and four more if its answer
  /// is lost and looked for.
  static var leaseMargin: UInt64 { 7 }

  var vault: Vault { fleet.vault }

  public mutating func look(_ unsealed: inout Unsealed) -> Verdict? {
    defer { unsealed.wipe() }
    do throws(Fault) {
      let state = try fleet.read(account, workstation)
      switch try readiness(state) {
      case .refused(let verdict): return verdict
      case .busy: return nil
      case .ready(let record):
        _ = try fleet.openCredential(record, &unsealed)
        if state.last == nil { known = state }
        return nil
      }
    } catch {
      return .unavailable(error)
    }
  }

  public mutating func attempt(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Verdict {
    defer { unsealed.wipe() }
    do throws(Fault) {
      var wait = FleetWait(vault.clock)
      while true {
        let state = if let read = known.take() { read } else { try fleet.read(account, workstation) }
        if let verdict = try attempt(passcode, state, &unsealed) { return verdict }
        guard wait.pause(state.movement) else {
          throw Fault(.busyRecord, path: FleetKeys.record(account))
        }
      }
    } catch {
      return .unavailable(error)
    }
  }

  enum Readiness {
    case ready(FleetRecord)
    case refused(Verdict)
    /// Another attempt is under way, of the account, or of the workstation when it has no more to spare.
    case busy
  }

  private func readiness(_ state: FleetState) throws(Fault) -> Readiness {
    guard let record = state.record, record.record.state != .removed else { return .refused(.notEnrolled) }
    let failures = record.record.ledger.failures
    if record.epoch > fleet.key.epoch { throw fleet.key.later }
    if record.record.disabled { return .refused(.disabled) }
    if record.epoch < fleet.key.epoch { return .refused(.exhausted(failures: failures)) }
    if isSecondFactor, !record.record.isAdministrators {
      return .refused(.notPermitted(.notAdministrators))
    }
    return try room(record, state)
  }

  /// Whether the account and the workstation may begin an attempt just now, as far as delays and other attempts go.
  func room(_ record: FleetRecord, _ state: FleetState) throws(Fault) -> Readiness {
    let failures = record.record.ledger.failures
    // A wrong attempt that is under way has its delay here already; a right one takes it back when it settles.
    if let wait = state.wait {
      if state.busy != nil { return .busy }
      return .refused(.locked(milliseconds: try fleet.timeLeft(wait), failures: failures))
    }
    if let station = state.station, station.isFull, let entry = state.stationEntry {
      if state.flights > 0 { return .busy }
      return .refused(.locked(milliseconds: try fleet.timeLeft(entry), failures: failures))
    }
    if let own = state.ownCount, own.isFullForAccount, let entry = state.ownEntry {
      if state.busy != nil { return .busy }
      return .refused(.locked(milliseconds: try fleet.timeLeft(entry), failures: failures))
    }
    return state.busy == nil ? .ready(record) : .busy
  }

  /// nil: another attempt is in the way.
  private mutating func attempt(
    _ passcode: borrowing Passcode, _ state: FleetState, _ unsealed: inout Unsealed
  ) throws(Fault) -> Verdict? {
    switch try readiness(state) {
    case .refused(let verdict): return verdict
    case .busy: return nil
    case .ready(let record):
      let credential = try fleet.openCredential(record, &unsealed)
      let digest = fleet.digest(passcode, account, &unsealed)
      let failures = record.record.ledger.failures
      if let digest, let last = state.last, equalInConstantTime(last.value, digest) {
        return .wrong(
          .open(attemptsLeft: fleet.options.lockout.attemptsLeft(after: failures)), failures: failures)
      }
      let slot = try takeSlot()
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      try vault.reserveMemory(for: credential.cost)
      guard let charge = try chargeInSlot(record, state) else { return nil }
      let verdict = try verify(passcode, credential, charge, &unsealed)
      if case .wrong = verdict { release(charge, digest) }
      return withExtendedLifetime(slot) { verdict }
    }
  }

  /// Charges what is still as it was read. Others of the workstation change its count all the time: that alone is no reason
  /// to give the slot back, and to wait for another one.
  ///
  /// - Returns: nil if anything else has changed: then it starts again.
  private func chargeInSlot(_ record: FleetRecord, _ read: FleetState) throws(Fault) -> FleetCharge? {
    var state = read
    for _ in 0..<Self.mostRounds {
      if let charge = try charge(record, state) { return charge }
      state = try fleet.read(account, workstation)
      guard state.revision == read.revision, state.last?.modified == read.last?.modified,
        case .ready = try readiness(state)
      else { return nil }
    }
    return nil
  }

  /// The same as for this server's own logins.
  func takeSlot() throws(Fault) -> HashingSlots.Held {
    let account = Account(uid: FleetRecord.uid, gid: FleetRecord.uid, name: account)
    return try vault.takeHashingSlot(try Store.open(vault.configuration), account)
  }

  /// After a charge that was acknowledged, and nowhere else.
  private mutating func verify(
    _ passcode: borrowing Passcode, _ credential: Credential, _ charge: FleetCharge,
    _ unsealed: inout Unsealed
  ) throws(Fault) -> Verdict {
    guard let isMatch = credential.matches(passcode, &unsealed) else { throw Fault(.hashingFailed) }
    guard isMatch else {
      let failures = charge.record.record.ledger.failures
      return .wrong(fleet.schedule(after: failures), failures: failures)
    }
    if let refusal = settle(charge) { return refusal }
    provenMark = vault.mark(charge.record.record)
    return .granted(charge.earlier)
  }
}

/// A failure that was recorded, until it turns out to be none.
struct FleetCharge {
  let id: Bytes
  /// As it was charged, and in which revision.
  let record: FleetRecord
  let revision: UInt64
  /// As it was before.
  let before: Record
  let station: StationCharge

  var earlier: FailedAttempts {
    FailedAttempts(count: before.ledger.failures, time: before.times.failure, service: before.failureService)
  }
}

/// What a charge makes of the counts of its workstation, and of its account there.
///
/// Both are written in the same transactions, and each of those depends on the revision of the workstation's.
struct StationCharge {
  let count: StationCount
  let lease: UInt64
  let own: StationCount
  /// The window's, which began with its first attempt. When the count is full its own lease is another one.
  let windowLease: UInt64
}

// MARK: - Charge

extension FleetLogin where Etcd: EtcdStore {
  /// Records the failure that this attempt is until it turns out to be none, with all that follows from it.
  ///
  /// - Returns: nil if what was read is no longer so: nothing was recorded.
  /// - Throws: a fault if it isn't known whether it was recorded.
  func charge(
    _ record: FleetRecord, _ state: FleetState, _ more: [EtcdTransaction.Condition] = []
  ) throws(Fault) -> FleetCharge? {
    let id = randomBytes(Record.attemptIDLength, vault.sodium)
    var charged = record
    let failures = record.record.ledger.charged(at: .never).failures
    charged.record.ledger = Ledger(failures: failures, lastFailure: .never, served: false)
    charged.record.times.failure = vault.clock.wall()
    charged.record.failureService = service
    charged.record.attemptID = id
    let station = try count(state)
    let busy = try fleet.lease(seconds: Self.busySeconds)
    var transaction = EtcdTransaction(
      if: [
        .unchanged(FleetKeys.record(account), revision: state.revision),
        .unchanged(FleetKeys.wait(account), revision: 0), .unchanged(FleetKeys.busy(account), revision: 0),
        .unchanged(FleetKeys.station(workstation), revision: state.stationEntry?.modified ?? 0),
        .unchanged(FleetKeys.epoch, revision: state.epochRevision),
      ] + more,
      [
        .put(FleetKeys.record(account), value: charged.encoded(recordCodec), lease: 0),
        .put(FleetKeys.busy(account), value: id, lease: busy),
        .put(FleetKeys.flight(workstation, id), value: [], lease: busy),
        .put(FleetKeys.station(workstation), value: station.count.encoded, lease: station.lease),
        .put(
          FleetKeys.station(workstation, account: account), value: station.own.encoded,
          lease: station.windowLease),
      ])
    if case .seconds(let seconds) = fleet.options.lockout.delay(after: failures) {
      let wait = try fleet.lease(seconds: seconds + Self.leaseMargin)
      transaction.actions.append(.put(FleetKeys.wait(account), value: id, lease: wait))
    }
    let outcome = try fleet.commit(transaction)
    let revision: UInt64
    if let outcome, outcome.succeeded {
      revision = outcome.origin.revision
    } else {
      guard let found = try find(id, isLost: outcome == nil) else { return nil }
      revision = found
    }
    return FleetCharge(
      id: id, record: charged, revision: revision, before: record.record, station: station)
  }

  /// The revision of a charge that wasn't acknowledged; nil: it was refused.
  private func find(_ id: Bytes, isLost: Bool) throws(Fault) -> UInt64? {
    let state = try fleet.read(account, workstation)
    if state.record?.record.attemptID == id { return state.revision }
    // It may still come: then it counts, and nobody has verified anything.
    if isLost { throw Fault.noEtcd }
    return nil
  }

  /// The counts with this attempt. At the last one that the workstation may have, an hour begins.
  private func count(_ state: FleetState) throws(Fault) -> StationCharge {
    let hour = StationCount.seconds + Self.leaseMargin
    guard let station = state.station, let entry = state.stationEntry else {
      let first = StationCount(failures: 1, window: randomBytes(StationCount.windowLength, vault.sodium))
      let lease = try fleet.lease(seconds: hour)
      return StationCharge(count: first, lease: lease, own: first, windowLease: lease)
    }
    let count = station.next
    let own = state.ownCount?.next ?? StationCount(failures: 1, window: count.window)
    let lease = count.isFull ? try fleet.lease(seconds: hour) : entry.lease
    return StationCharge(count: count, lease: lease, own: own, windowLease: entry.lease)
  }

  /// Lets the next attempt begin, where settling hasn't; if that fails, leases do it. Remembers a wrong passcode.
  func release(_ charge: FleetCharge, _ digest: Bytes?) {
    var transaction = EtcdTransaction(
      if: [.holds(FleetKeys.busy(account), value: charge.id)],
      [.delete(FleetKeys.busy(account)), .delete(FleetKeys.flight(workstation, charge.id))],
      otherwise: [.delete(FleetKeys.flight(workstation, charge.id))])
    if let digest, let lease = try? fleet.lease(seconds: Self.lastSeconds) {
      transaction.actions.append(.put(FleetKeys.last(account), value: digest, lease: lease))
    }
    _ = try? fleet.commit(transaction)
  }
}
