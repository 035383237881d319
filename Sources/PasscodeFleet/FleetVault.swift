public import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

// Passcodes of a fleet, kept in etcd: what `Vault` is for one machine. The attempt is in FleetLogin.
//
// MUST (fleet), here, in FleetTurn, in SpareLeases and in VerifierClient:
//  1  Only after a majority has the charge on its disks is anything hashed: the answer said `"succeeded": true` (without
//     that field it did not succeed), or the fence finds the attempt's id in the record. Where etcd says that its
//     database is full (NOSPACE), a look at a record that could be tried is `unavailable`, before a passcode is asked for;
//     etcd isn't asked about that where this server has a spare lease for an attempt, asked for within the last 5 s.
//     FleetLoginTests, FleetFenceTests, EtcdTests, test_verifier.py, test_an_alarm_of_etcd_is_told
//  2  The attempt's id is drawn here, 128 random bits for each charge, and never taken from a request.  FleetLoginTests
//  3  No charge is sent twice. One that got no answer is fenced: either it is found, or it can't arrive any more, and only
//     then does the attempt charge anew, within 30 s. A fence that gets no answer is repeated, and never the charge. After
//     30 s without an answer the attempt is `unavailable`. The charge may be there even so; the reverse never happens. One
//     that is found when its `busy` has less than 10 s left stays, and nothing is verified.
//     FleetFenceTests, test_fleet_fence.py, test_a_leader_that_is_killed_or_stopped_gives_no_guess_away
//  4  While a delay's key (`wait`) exists nothing is verified, and the whole delay passes between the charge that starts it
//     and the next charge. After the charge, the key's lease is asked how long it lasts; if that is less than the delay, the
//     key gets a new one, and only then is anything hashed. No clocks are compared. Leases start anew after a change of
//     etcd's leader; what is noted of them each minute keeps a delay, a count and a one-time code from lasting much longer
//     (FleetVault+Leases).                FleetLoginTests, FleetDelayTests, FleetLeaseTests, test_fleet_leases.py,
//     test_a_charge_that_is_late_shortens_no_delay
//  5  One attempt per account is made at a time (`busy`), with a lease that has 20 to 25 s left. Correct passcodes in
//     parallel all pass.
//     FleetLoginTests, test_right_ones_at_once_all_pass
//  6  An attempt takes back only its own charge, by compare-and-set. If that fails the charge stays, and the verdict stands,
//     unless the passcode has been disabled, removed or replaced in the meantime. A correct one is never reported wrong.
//     FleetConflictTests, FleetLoginTests
//  7  A workstation may have 20 wrong passcodes an hour over all accounts: at most 8 for one account, and 12 for strangers
//     (people whose passcode wasn't accepted there in the last 30 days). They are counted in the charge's transaction,
//     including those that are still being checked. The hour begins with the first wrong one, and ends with the
//     count's lease: up to 67 s more than an hour. Around its end, up to twice the limit less one (39) are possible within
//     minutes. An administrator can see the count and end it (`--workstation`), and set another limit (workstation_limit). Who was
//     accepted is written in the transaction that takes a charge back, by a digest under the fleet key. Once the strangers'
//     limit is reached, anyone at the workstation can tell who is on the list: only they are still asked.
//     FleetStationTests, FleetStrangerTests, test_a_workstation_that_is_stopped_is_shown_and_unlocked
//  8  An etcd that is behind what this server has seen, or a different one, is refused: a restored snapshot would refund
//     guesses. One whose revision was behind once is refused even when it has caught up. After `passcode server restored`
//     on one server, the others refuse, too, until it is run there; each passcode is locked out until it is unlocked, or
//     replaced with a new one-time code.
//     FleetSnapshotTests, test_a_snapshot_that_was_restored_refunds_nothing, test_verifier_seen.py
//  9  Every wait ends: 2 s for an answer, 30 s without progress, 120 s in all. A workstation gives up after 5 s of silence; a
//     working verifier gives a sign every second or two.  FleetLoginTests, test_verifier.py, test_workstation_attacks.py
// 10  Account, workstation and attempt are hexadecimal in the keys, and a credential is sealed for its fleet and its
//     account.                                                                       FleetTests, FleetLoginTests
// 11  The schedule ends with a time, never with `reset`: else people at a few workstations could lock an owner out until an
//     administrator steps in.                                                                          FleetTests
// 12  Root has no passcode in a fleet, at either end.                              FleetLoginTests, test_workstation.py
// 15  A passcode is unlocked only when no attempt on it is under way.
//     FleetAdministrationTests, test_unlocking_waits_for_the_attempt_that_is_under_way

/// The passcodes of a fleet.
public final class FleetVault<Etcd: EtcdStore> {
  let vault: Vault
  let options: FleetOptions
  let key: FleetKey
  public let etcd: Etcd
  let seen: SeenFile
  let spares: SpareLeases
  /// The digest of this server's list of workstations.
  var digestOfList: () -> Bytes = { [] }

  /// - Parameter vault: for cost, hashing slots, rules for new passcodes, clock and log.
  public init(
    _ vault: Vault, _ options: FleetOptions, _ key: FleetKey, _ etcd: Etcd, _ seen: SeenFile,
    _ spares: SpareLeases
  ) {
    self.vault = vault
    self.options = options
    self.key = key
    self.etcd = etcd
    self.seen = seen
    self.spares = spares
  }

  /// nil: no answer, or none that makes sense.
  ///
  /// - Throws: a fault if the answer comes from the past.
  func commit(_ transaction: EtcdTransaction) throws(Fault) -> EtcdOutcome? {
    guard let outcome = etcd.commit(transaction) else { return nil }
    try seen.take(outcome.origin)
    return outcome
  }

  /// Commits a transaction, and a second time where no answer comes: reading changes nothing, and what is deleted stays so.
  ///
  /// - Precondition: it only reads or deletes. No charge is sent twice (MUST 3).
  /// - Throws: a fault, too, if a condition isn't met.
  func ask(_ question: EtcdTransaction) throws(Fault) -> EtcdOutcome {
    var outcome = try commit(question)
    if outcome == nil { outcome = try commit(question) }
    guard let outcome, outcome.succeeded else { throw Fault.noEtcd }
    return outcome
  }

  /// Asked twice: a lease that nobody heard of ends by itself.
  func lease(seconds: UInt64) throws(Fault) -> UInt64 {
    guard let lease = etcd.grantLease(seconds: seconds) ?? etcd.grantLease(seconds: seconds) else {
      throw Fault.noEtcd
    }
    return lease
  }

  /// Milliseconds that are left of a delay: one second during the margin of its lease, and as long as its key is there.
  func timeLeft(_ entry: EtcdEntry) throws(Fault) -> UInt64 {
    guard let seconds = etcd.timeLeft(entry.lease) else { throw Fault.noEtcd }
    let margin = FleetLogin<Etcd>.leaseMargin
    return min(seconds > margin ? seconds - margin : 1, Schedule.longestDelay) * 1_000
  }

  /// Whole seconds that a lease still has. Asked twice: that changes nothing.
  func secondsLeft(_ lease: UInt64) throws(Fault) -> UInt64 {
    guard let left = etcd.timeLeft(lease) ?? etcd.timeLeft(lease) else { throw Fault.noEtcd }
    return left
  }

  /// Reads all that decides about an account, at one moment.
  func read(_ account: Bytes, _ workstation: Bytes) throws(Fault) -> FleetState {
    guard account != Bytes(text: "root"), Record.canKeep(name: account) else {
      throw Fault(.noAccount, name: account)
    }
    return try state(ask(EtcdTransaction(FleetState.questions(account, workstation))), account)
  }

  /// - Parameter outcome: of `FleetState.questions`.
  func state(_ outcome: EtcdOutcome, _ account: Bytes) throws(Fault) -> FleetState {
    let state = try FleetState(outcome, account)
    if state.epoch > key.epoch { throw key.later }
    return state
  }

  func schedule(after failures: UInt32) -> Standing {
    switch options.lockout.delay(after: failures) {
    case .seconds(let seconds): .locked(milliseconds: seconds * 1_000)
    case .none, .reset: .open(attemptsLeft: options.lockout.attemptsLeft(after: failures))
    }
  }

  // MARK: Credentials

  /// Opens what is sealed in a record; its associated data binds it to this format, fleet and account.
  func openCredential(_ record: FleetRecord, _ unsealed: inout Unsealed) throws(Fault) -> Credential {
    try key.load(&unsealed.key)
    let name = record.record.name
    guard case .enrolled(let sealed) = record.record.state,
      unsealed.credential.open(sealed, unsealed.key, associated: associated(name)),
      let credential = Credential(unsealed.credential)
    else { throw Fault(.sealedOtherwise, path: FleetKeys.record(name), name: name) }
    return credential
  }

  func associated(_ account: Bytes, _ subject: Credential.Subject = .passcode) -> Bytes {
    let kind: UInt8 = subject == .passcode ? 2 : 3
    return [kind, UInt8(truncatingIfNeeded: options.name.count)] + options.name + account
  }

  /// Of a wrong passcode: the credential's salt makes it stale when that changes.
  func digest(
    _ passcode: borrowing Passcode, _ account: Bytes, _ unsealed: inout Unsealed
  ) -> Bytes? {
    let context =
      Bytes(text: "passcode fleet last wrong\n") + blake2b(associated(account)[...])
    return unsealed.digest.keyed(unsealed.key, context, unsealed.credential, passcode)
  }
}

extension Fault {
  /// Path and error are what the workstation is told.
  static var noEtcd: Fault { Fault(.noEtcd, path: Bytes(text: "etcd"), error: Errno.timedOut.code) }
}

/// All that decides about an account, at one moment.
public struct FleetState {
  let record: FleetRecord?
  /// The revision in which etcd has the record; 0 where there is none.
  let revision: UInt64
  let wait: EtcdEntry?
  let busy: EtcdEntry?
  let last: EtcdEntry?
  let station: StationCount?
  let stationEntry: EtcdEntry?
  /// The workstation's count for this account, in the same hour.
  let ownCount: StationCount?
  let ownEntry: EtcdEntry?
  /// The workstation's count for strangers, in the same hour.
  let strangers: StationCount?
  let strangersEntry: EtcdEntry?
  let owners: KnownOwners
  /// How many attempts of the workstation are being checked.
  let flights: UInt64
  /// The account's one-time code as etcd has it, valid or not.
  let code: EtcdEntry?
  /// The fleet's; and the revision of its key, 0: there is none.
  let epoch: UInt64
  let epochRevision: UInt64

  /// What is asked of etcd to make such a state.
  static func questions(_ account: Bytes, _ workstation: Bytes) -> [EtcdTransaction.Action] {
    [
      .read(FleetKeys.record(account)), .read(FleetKeys.wait(account)), .read(FleetKeys.busy(account)),
      .read(FleetKeys.last(account)), .read(FleetKeys.station(workstation)),
      .count(prefix: FleetKeys.flights(workstation)), .read(FleetKeys.epoch), .read(FleetKeys.code(account)),
      .read(FleetKeys.station(workstation, account: account)), .read(FleetKeys.strangers(workstation)),
      .read(FleetKeys.owners(workstation)),
    ]
  }

  fileprivate init(_ outcome: EtcdOutcome, _ account: Bytes) throws(Fault) {
    let entry = outcome.entry(0)
    record = entry.flatMap { FleetRecord($0.value, account: account, recordCodec) }
    revision = entry?.modified ?? 0
    wait = outcome.entry(1)
    busy = outcome.entry(2)
    last = outcome.entry(3)
    stationEntry = outcome.entry(4)
    station = stationEntry.flatMap { StationCount($0.value) }
    ownEntry = outcome.entry(8)
    let own = ownEntry.flatMap { StationCount($0.value) }
    ownCount = own?.window == station?.window ? own : nil
    strangersEntry = outcome.entry(9)
    let strangers = strangersEntry.flatMap { StationCount($0.value) }
    self.strangers = strangers?.window == station?.window ? strangers : nil
    owners = KnownOwners(outcome.entry(10))
    flights = outcome.count(5)
    code = outcome.entry(7)
    if entry != nil && record == nil {
      throw Fault(.damagedRecord, path: FleetKeys.record(account), name: account)
    }
    (epoch, epochRevision) = try FleetState.epoch(outcome.entry(6))
    if let strangersEntry, strangers == nil { throw Fault(.damagedRecord, path: strangersEntry.key) }
    if let ownEntry, own == nil { throw Fault(.damagedRecord, path: ownEntry.key) }
    if let stationEntry, station == nil { throw Fault(.damagedRecord, path: stationEntry.key) }
  }

  static func epoch(_ entry: EtcdEntry?) throws(Fault) -> (UInt64, revision: UInt64) {
    guard let entry else { return (1, 0) }
    guard let epoch = FleetKeys.epoch(in: entry.value) else { throw Fault(.damagedRecord, path: entry.key) }
    return (epoch, entry.modified)
  }

  /// What changes when something moves.
  var movement: Bytes {
    [revision, wait?.modified ?? 0, busy?.modified ?? 0, stationEntry?.modified ?? 0, flights]
      .flatMap { littleEndian($0, 8) }
  }
}

/// A workstation's owners, and the etcd revision of that list.
struct KnownOwners {
  let owners: StationOwners
  let revision: UInt64

  init(_ entry: EtcdEntry?) {
    owners = entry.flatMap { StationOwners($0.value) } ?? StationOwners()
    revision = entry?.modified ?? 0
  }
}

extension Wait.Limits {
  /// Of a wait for another process's attempt: longer than the lease of one that died.
  static var inFleet: Wait.Limits {
    Wait.Limits(withoutMovement: 30_000, longest: 120_000, pause: 160)
  }
}

extension FleetVault {
  /// A wait for another process's attempt on an account.
  var newWait: Wait { Wait(.inFleet, vault.clock, firstPause: 10) }
}
