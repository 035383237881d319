internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

// One attempt in a fleet; the MUST list is in FleetVault.swift. The order:
//
//     key → read → refusals → credential → repeated wrong passcode → hashing slot → memory → leases → charge, on
//     condition that what was read is still so → is the delay's lease long enough → Argon2 → give the slot back → settle
//     on condition that the record is still as charged
//
// A delay is never shorter than the schedule says: between an attempt that starts one and the next one that is charged,
// all of it passes. Its lease is granted before the charge, and a process can be stopped between the two, or its
// request can be late: by the time the charge is carried out, less than the delay may be left. The lease's time to live
// is therefore asked once the charge is acknowledged, or found: that is later than the charge. If it is at least the
// delay, the key outlasts the delay, counted from the charge. If not, `wait` gets a fresh lease, on condition that the
// record is still as charged, and that one is asked about again. An attempt that charges meanwhile writes the record:
// then that condition isn't met, the delay was over too early, and so nothing is hashed. A lease that starts again only
// lasts longer, and none that a delay has is revoked. The delay that is told is what is left after the hash.
//
// After a look, an attempt begins with what the look has read. The charge shows whether that is still so; if it isn't,
// the refusal of the charge contains the new state.
//
// No lock is held while it waits for a hashing slot, and no slot while it waits for the account's other attempts: `busy`
// is taken by the charge's own transaction, and where that is refused, it starts again. Only while it finds out what became
// of a charge that got no answer (FleetLogin+Fence.swift), it keeps its slot, for 30 s at most.

/// A login of an account of the fleet, for a workstation that was identified.
public struct FleetLogin<Etcd: EtcdStore>: Login, ~Copyable {
  let fleet: FleetVault<Etcd>
  let account: Bytes
  let workstation: Bytes
  let service: Bytes
  private let isSecondFactor: Bool
  let charges: Charges
  /// False only if no charge of this login was carried out, and none can be.
  public var mayBeCharged: Bool { charges.mayBeThere }
  /// The leases that have no keys any more, for `FleetVault.keep`: otherwise a crowd of logins would leave
  /// as many behind.
  public var emptied: [AttemptLease?] { charges.emptied }
  /// After a granted attempt: which credential was proven.
  public private(set) var provenMark: Bytes?
  /// What a look has read, if an attempt may begin with it. The charge depends on all of it except the last wrong
  /// passcode. It is therefore kept only if no wrong passcode is remembered: one that is typed later changes the
  /// record, and then the charge is refused.
  public var known: FleetState?
  public private(set) var looked = Looked()

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
    charges = Charges(fleet.vault.clock)
  }

  /// Seconds after which an attempt whose process died no longer keeps others waiting; up to 5 s more (`SpareLeases`).
  static var busySeconds: UInt64 { 20 }
  /// Seconds that the same wrong passcode doesn't count again.
  static var lastSeconds: UInt64 { 300 }
  /// Seconds by which a delay's lease is longer: it begins before the charge, which may take two, and four more if its answer
  /// is lost and looked for. Where that takes longer, the delay gets another lease (`hold`).
  static var leaseMargin: UInt64 { 7 }

  var vault: Vault { fleet.vault }

  public mutating func look(_ unsealed: inout Unsealed) -> Verdict? {
    defer { unsealed.wipe() }
    do throws(Fault) {
      try makeMark(&unsealed)
      let state = try fleet.read(account, workstation)
      switch try readiness(state) {
      case .refused(let verdict): return verdict
      case .busy: return nil
      case .ready(let record):
        let credential = try fleet.openCredential(record, &unsealed)
        try testMemory(for: credential.cost)
        if fleet.isFull { throw Fault(.failed, path: Bytes(text: "etcd"), error: Errno.noSpace.code) }
        if state.last == nil { known = state }
        let failures = record.record.ledger.failures
        if failures > 0 { looked.attemptsLeft = fleet.options.lockout.attemptsLeft(after: failures) }
        return nil
      }
    } catch {
      return .unavailable(error)
    }
  }

  /// So that a workstation leaves a server that couldn't hash, before a code is typed. Where the machine's memory is scarce,
  /// one look at a time touches it for that.
  private func testMemory(for cost: Options.Cost) throws(Fault) {
    try ControlGroup.check(cost)
    guard let turn = FleetTurn.toTestMemory() else { return }
    defer { withExtendedLifetime(turn) {} }
    try vault.reserveMemory(for: cost)
  }

  public mutating func attempt(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Verdict {
    defer { unsealed.wipe() }
    do throws(Fault) {
      try makeMark(&unsealed)
      let wait = fleet.newWait
      while true {
        let state = if let read = known.take() { read } else { try fleet.read(account, workstation) }
        if let verdict = try attempt(passcode, state, &unsealed) { return verdict }
        try fleet.pause(wait, state, account)
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
    // A wrong attempt that is under way has its delay here already; a correct one takes it back when it settles.
    if let wait = state.wait {
      if state.busy != nil { return .busy }
      return .refused(.locked(milliseconds: try fleet.timeLeft(wait), failures: failures))
    }
    let limits = fleet.options
    if let station = state.station, station.failures >= limits.stationLimit {
      return state.flights > 0 ? .busy : .refused(.notPermitted(.workstation))
    }
    if let strangers = state.strangers, strangers.failures >= limits.strangersLimit,
      isStranger(state)
    {
      return state.flights > 0 ? .busy : .refused(.notPermitted(.workstation))
    }
    if let own = state.ownCount, own.isFullForAccount {
      return state.busy != nil ? .busy : .refused(.notPermitted(.workstation))
    }
    return state.busy == nil ? .ready(record) : .busy
  }

  /// Whether this account isn't among the workstation's owners (`StationOwners`).
  func isStranger(_ state: FleetState) -> Bool {
    !state.owners.owners.contains(charges.mark, today: today)
  }

  /// Must be called before anything that may call `isStranger`.
  func makeMark(_ unsealed: inout Unsealed) throws(Fault) {
    try fleet.key.load(&unsealed.key)
    let context = Bytes(text: "passcode fleet owner\n") + workstation + Bytes(text: "\n") + account
    charges.mark = Bytes(unsealed.key.digest(of: context).prefix(StationOwners.markLength))
  }

  /// Days since 1970-01-01, UTC.
  var today: UInt64 { vault.clock.wall() / 86_400 }

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
      let slot = try fleet.takeHashingSlot(account)
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      try ControlGroup.check(credential.cost)
      try vault.reserveMemory(for: credential.cost)
      guard let charge = try chargeInSlot(record, state) else { return nil }
      let isMatch = credential.matches(passcode, &unsealed)
      // Settling needs no slot: the next hash can begin while etcd answers.
      _ = consume slot
      guard let isMatch else { throw Fault(.hashingFailed) }
      return isMatch ? granted(charge) : wrong(charge, digest)
    }
  }

  /// Charges the record, unless it has changed since this process read it. Other people of the workstation change its
  /// count all the time: that is no reason to give the slot back, and to wait for another one.
  ///
  /// - Returns: nil if anything else has changed: then it starts again.
  private func chargeInSlot(_ record: FleetRecord, _ read: FleetState) throws(Fault) -> FleetCharge? {
    var state = read
    for _ in 0..<Self.mostRounds {
      switch try charge(record, state) {
      case .charged(let charge): return charge
      case .refused(let now): state = now
      case .fenced: return nil
      }
      guard state.revision == read.revision, state.last?.modified == read.last?.modified,
        case .ready = try readiness(state)
      else { return nil }
    }
    return nil
  }

  private func wrong(_ charge: FleetCharge, _ digest: Bytes?) -> Verdict {
    let standing = standing(charge)
    release(charge, digest, isWrong: true)
    return .wrong(standing, failures: charge.record.record.ledger.failures)
  }

  private mutating func granted(_ charge: FleetCharge) -> Verdict {
    if let refusal = settle(charge) { return refusal }
    provenMark = vault.mark(charge.record.record)
    return .granted(charge.before.failedAttempts)
  }
}
