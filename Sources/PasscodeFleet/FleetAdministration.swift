internal import PasscodeFleetPolicy
public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

// What changes a credential or its state in a fleet, by compare-and-set: nothing that somebody else wrote meanwhile is
// lost. Each is for root on a server, but for `enroll` by the old passcode. Tests: FleetAdministrationTests.

extension FleetVault {
  /// Stands for a workstation where none is concerned: none has such a name.
  var nowhere: Bytes { [0] }

  /// Sets the new passcode as the account's, whatever was there before; ends `locked` and `exhausted`, not `disabled`.
  ///
  /// - Throws: a refusal if it may not be chosen; nothing is written then.
  public func enroll(
    _ account: Bytes, _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed, by authority: Authority
  ) throws(EnrolmentError) {
    defer { unsealed.wipe() }
    try judge(account, change)
    do throws(Fault) { try write(account, change.new, &unsealed, authority) } catch { throw .fault(error) }
  }

  /// Whether the new passcode may be chosen.
  public func choice(_ account: Bytes, _ change: borrowing PasscodeChange) throws(Fault) -> Choice {
    try vault.judge(.inFleet(account), change)
  }

  /// - Throws: a refusal if it may not.
  func judge(_ account: Bytes, _ change: borrowing PasscodeChange) throws(EnrolmentError) {
    let choice: Choice
    do throws(Fault) { choice = try self.choice(account, change) } catch { throw .fault(error) }
    if case .refused(let refusal) = choice { throw .refused(refusal) }
  }

  /// Takes a hashing slot; this server's own logins use the same ones.
  func takeHashingSlot(_ account: Bytes) throws(Fault) -> HashingSlots.Held {
    try vault.takeHashingSlot(try Store.open(vault.configuration), .inFleet(account), .inFleet)
  }

  private func write(
    _ account: Bytes, _ new: borrowing NewPasscode, _ unsealed: inout Unsealed, _ authority: Authority
  ) throws(Fault) {
    try key.load(&unsealed.key)
    _ = try read(account, nowhere)
    let slot = try takeHashingSlot(account)
    let sealed = try seal(new.passcode, account, &unsealed)
    _ = consume slot
    _ = try alter(account) { (before) throws(Fault) in
      if let mark = authority.provenMark, before.map({ vault.mark($0.record) }) != mark {
        throw Fault(.changedMeanwhile)
      }
      var record = FleetRecord.empty(account)
      record.state = .enrolled(sealed: sealed)
      record.disabled = before?.record.disabled ?? false
      record.enrolledBy = vault.proof(authority) ?? before?.record.enrolledBy ?? .unknown
      record.unlockedBy = vault.proof(authority) == nil ? before?.record.unlockedBy ?? .nobody : .nobody
      record.times.enrolled = vault.clock.wall()
      return record
    }
  }

  /// Hashes it into a new credential, and seals that for the account.
  ///
  /// - Parameter unsealed: has the fleet key.
  func seal(
    _ passcode: borrowing Passcode, _ account: Bytes, _ unsealed: inout Unsealed,
    of subject: Credential.Subject = .passcode
  ) throws(Fault) -> Bytes {
    guard Credential.make(passcode, &unsealed, vault.policy.cost, vault.sodium, of: subject) else {
      throw Fault(.noMemoryToHash, number: vault.policy.cost.memory >> 10)
    }
    return unsealed.credential.seal(
      unsealed.key, associated: associated(account, subject), vault.sodium)
  }

  /// Removes the passcode and a one-time code. Its being disabled stays.
  ///
  /// - Returns: whether there was one.
  public func remove(_ account: Bytes) throws(Fault) -> Bool {
    let hadCode = try withdraw(account) == .done
    return try alter(account) { (before) throws(Fault) in
      guard let before, before.record.state != .removed else { return nil }
      var record = FleetRecord.empty(account)
      record.disabled = before.record.disabled
      return record
    } ?? hadCode
  }

  /// Ends `locked` and `exhausted`, also for a passcode of an earlier epoch. Waits for an attempt that is under way: its
  /// failure would be forgotten before it is known, and what it says of the attempts that are left would be untrue.
  ///
  /// - Returns: whether there was anything to end; nil if not enrolled.
  public func unlock(_ account: Bytes) throws(Fault) -> Bool? {
    let state = try read(account, nowhere)
    guard let record = state.record else { return nil }
    let isCounted = record.record.ledger != .clear || state.wait != nil
    // Without a passcode there may be wrong one-time codes.
    guard record.record.state != .removed || isCounted else { return nil }
    if !isCounted, record.epoch == key.epoch { return false }
    return try alter(account, .endsBetweenAttempts) { (before) throws(Fault) in
      guard var record = before?.record else { return nil }
      record.ledger = .clear
      record.unlockedBy = .root
      return record
    }
  }

  /// Disables an account's passcode in the whole fleet, or enables it again.
  ///
  /// - Returns: whether that changed anything; nil if there is no record.
  public func disable(_ account: Bytes, _ disabled: Bool) throws(Fault) -> Bool? {
    let state = try read(account, nowhere)
    guard let record = state.record else { return nil }
    if record.record.disabled == disabled { return false }
    return try alter(account, .stays) { (before) throws(Fault) in
      var record = before?.record
      record?.disabled = disabled
      return record
    }
  }

  /// What becomes of a delay that runs, and of a passcode that is locked out because of its epoch.
  private enum Lock {
    case stays
    /// And a one-time code ends, too.
    case ends
    /// The lock only, and no attempt is under way meanwhile.
    case endsBetweenAttempts
  }

  /// Writes what `change` makes of the record, on condition that it hasn't changed meanwhile.
  ///
  /// - Parameters:
  ///   - change: gets the record, nil where there is none; nil: there is nothing to write.
  /// - Returns: whether it was written; nil if there was nothing to write.
  private func alter(
    _ account: Bytes, _ lock: Lock = .ends, _ change: (FleetRecord?) throws(Fault) -> Record?
  ) throws(Fault) -> Bool? {
    let wait = newWait
    while true {
      let state = try read(account, nowhere)
      if lock == .endsBetweenAttempts && state.busy != nil {
        try pause(wait, state, account)
        continue
      }
      if let record = state.record, record.epoch > key.epoch { throw key.later }
      guard var record = try change(state.record) else { return nil }
      // By which it is found again if the answer is lost. An attempt that is under way finds that it isn't its own.
      record.attemptID = randomBytes(Record.attemptIDLength, vault.sodium)
      let epoch = lock == .stays ? state.record?.epoch ?? key.epoch : key.epoch
      let next = FleetRecord(record, epoch: epoch)
      var transaction = EtcdTransaction(
        if: [.unchanged(FleetKeys.record(account), revision: state.revision)],
        [.put(FleetKeys.record(account), value: next.encoded(recordCodec), lease: 0)])
      if lock == .endsBetweenAttempts {
        transaction.conditions.append(.unchanged(FleetKeys.busy(account), revision: 0))
      }
      if lock != .stays {
        transaction.actions += [
          .delete(FleetKeys.wait(account)), .delete(FleetKeys.last(account)),
          .delete(FleetKeys.wrong(account)),
        ]
      }
      if lock == .ends { transaction.actions.append(.delete(FleetKeys.code(account))) }
      let outcome = try commit(transaction)
      if let outcome, outcome.succeeded { return true }
      if try read(account, nowhere).record?.record.attemptID == record.attemptID { return true }
      if outcome == nil { throw Fault.noEtcd }
      try pause(wait, state, account)
    }
  }

  func pause(_ wait: Wait, _ state: FleetState, _ account: Bytes) throws(Fault) {
    guard case .again = wait.pause({ state.movement }) else {
      throw Fault(.busyRecord, path: FleetKeys.record(account))
    }
  }
}

extension Account {
  /// Somebody of whom a server knows only the name.
  public static func inFleet(_ name: Bytes) -> Account {
    Account(uid: FleetRecord.uid, gid: FleetRecord.uid, name: name)
  }
}
