internal import PasscodeFleetPolicy
public import PasscodePolicy
public import PasscodeSystem
internal import PasscodeVault

// One-time codes; the MUST list is in KeptCode.swift.

// MARK: What an administrator does with them; for root on a server

/// What came of withdrawing a one-time code.
public enum Withdrawal: Equatable, Sendable {
  case done
  /// There was no one-time code, or the code expired in the meantime, or somebody else withdrew it.
  case noCode
  /// In the meantime a passcode was set, with the code or by an administrator, and that ended the code.
  case used
}

extension FleetVault {
  /// Keeps a code for the account, in place of an earlier one.
  ///
  /// - Parameter seconds: how long it is valid, at least.
  public func invite(
    _ account: Bytes, _ code: borrowing Passcode, seconds: UInt64, _ unsealed: inout Unsealed
  ) throws(Fault) {
    defer { unsealed.wipe() }
    try key.load(&unsealed.key)
    _ = try read(account, nowhere)
    let slot = try takeHashingSlot(account)
    let sealed = try seal(code, account, &unsealed, of: .oneTimeCode)
    _ = consume slot
    let value = KeptCode(epoch: key.epoch, sealed: sealed).encoded
    try keep(value, account, lease: try lease(seconds: seconds))
  }

  private func keep(_ value: Bytes, _ account: Bytes, lease: UInt64) throws(Fault) {
    let wait = newWait
    while true {
      let state = try read(account, nowhere)
      // By its nonce no other one is the same.
      if state.code?.value == value { return }
      if let record = state.record, record.epoch > key.epoch { throw key.later }
      var transaction = EtcdTransaction(
        if: [
          .unchanged(FleetKeys.record(account), revision: state.revision),
          .unchanged(FleetKeys.epoch, revision: state.epochRevision),
        ],
        [.put(FleetKeys.code(account), value: value, lease: lease)])
      if state.record == nil {
        // Wrong codes are counted in a record.
        let none = FleetRecord(
          FleetRecord.empty(account), epoch: key.epoch)
        transaction.actions.append(
          .put(FleetKeys.record(account), value: none.encoded(recordCodec), lease: 0))
      }
      let outcome = try commit(transaction)
      if let outcome, outcome.succeeded { return }
      if outcome == nil {
        if try read(account, nowhere).code?.value == value { return }
        throw Fault.noEtcd
      }
      try pause(wait, state, account)
    }
  }

  /// Deletes the account's code, on condition that nobody has used it meanwhile.
  public func withdraw(_ account: Bytes) throws(Fault) -> Withdrawal {
    var state = try read(account, nowhere)
    let before = state.record?.record.state
    let wait = newWait
    while let entry = state.code {
      let delete = EtcdTransaction(
        if: [.unchanged(entry.key, revision: entry.modified)], [.delete(entry.key)])
      let outcome = try commit(delete)
      if let outcome, outcome.succeeded { return .done }
      state = try read(account, nowhere)
      if state.code == nil {
        if case .enrolled? = state.record?.record.state, state.record?.record.state != before { return .used }
        return outcome == nil ? .done : .noCode
      }
      if outcome == nil { throw Fault.noEtcd }
      try pause(wait, state, account)
    }
    return .noCode
  }

  /// The account's one-time code, if it was made in this epoch of the fleet key.
  func code(_ entry: EtcdEntry?) throws(Fault) -> (code: KeptCode, entry: EtcdEntry)? {
    guard let entry else { return nil }
    guard let code = KeptCode(entry.value) else { throw Fault(.damagedRecord, path: entry.key) }
    return code.epoch == key.epoch ? (code, entry) : nil
  }
}

// MARK: What its person does with it

/// What came of an enrolment by a code, unless the new passcode was refused.
public enum CodeOutcome: Equatable, Sendable {
  case done
  /// Also `wrong`, of the code.
  case refused(Verdict)
  /// None is valid: there never was one, or it was used or withdrawn, or it has expired, or it is of an earlier epoch.
  case noCode
}

extension FleetLogin where Etcd: EtcdStore {
  /// Sets the new passcode, if this is the account's code: one attempt, which is charged as any other.
  ///
  /// - Throws: a refusal if the passcode may not be chosen; nothing was charged then.
  public func enroll(
    byCode code: borrowing Passcode, _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed
  ) throws(EnrolmentError) -> CodeOutcome {
    defer { unsealed.wipe() }
    try fleet.judge(account, change)
    do throws(Fault) {
      try makeMark(&unsealed)
      let wait = fleet.newWait
      while true {
        let state = try fleet.read(account, workstation)
        if let outcome = try enroll(code, change.new, state, &unsealed) { return outcome }
        try fleet.pause(wait, state, account)
      }
    } catch {
      throw .fault(error)
    }
  }

  /// nil: another attempt is in the way.
  private func enroll(
    _ code: borrowing Passcode, _ new: borrowing NewPasscode, _ state: FleetState,
    _ unsealed: inout Unsealed
  ) throws(Fault) -> CodeOutcome? {
    guard let record = state.record else { return .noCode }
    if record.epoch > fleet.key.epoch { throw fleet.key.later }
    if record.record.disabled { return .refused(.disabled) }
    switch try room(record, state) {
    case .refused(let verdict): return .refused(verdict)
    case .busy: return nil
    case .ready: break
    }
    guard let (kept, entry) = try fleet.code(state.code) else { return .noCode }
    let credential = try open(kept, &unsealed)
    let slot = try fleet.takeHashingSlot(account)
    let undisturbed = SignalsBlocked()
    defer { _ = undisturbed }
    for cost in [credential.cost, vault.policy.cost] {
      try ControlGroup.check(cost)
      try vault.reserveMemory(for: cost)
    }
    let isThere = EtcdTransaction.Condition.unchanged(entry.key, revision: entry.modified)
    guard case .charged(let charge) = try charge(record, state, [isThere]) else { return nil }
    do throws(Fault) {
      let outcome = try replace(code, new, credential, FleetCode(charge: charge, entry: entry), &unsealed)
      var isWrong = false
      if case .refused(.wrong) = outcome { isWrong = true }
      if outcome != .done { release(charge, nil, isWrong: isWrong) }
      return withExtendedLifetime(slot) { outcome }
    } catch {
      release(charge, nil)
      throw error
    }
  }

  private func open(_ kept: KeptCode, _ unsealed: inout Unsealed) throws(Fault) -> Credential {
    try fleet.key.load(&unsealed.key)
    guard
      unsealed.credential.open(
        kept.sealed, unsealed.key, associated: fleet.associated(account, .oneTimeCode)),
      let credential = Credential(unsealed.credential, of: .oneTimeCode)
    else { throw Fault(.sealedOtherwise, path: FleetKeys.code(account), name: account) }
    return credential
  }

  /// Hashes the code and sets the new passcode; called only after etcd acknowledged the charge.
  private func replace(
    _ code: borrowing Passcode, _ new: borrowing NewPasscode, _ credential: Credential, _ proof: FleetCode,
    _ unsealed: inout Unsealed
  ) throws(Fault) -> CodeOutcome {
    guard let isMatch = credential.matches(code, &unsealed) else { throw Fault(.hashingFailed) }
    guard isMatch else {
      let failures = proof.charge.record.record.ledger.failures
      return .refused(.wrong(standing(proof.charge), failures: failures))
    }
    let sealed = try fleet.seal(new.passcode, account, &unsealed)
    return try set(sealed, proof)
  }

  private func set(_ sealed: Bytes, _ proof: FleetCode) throws(Fault) -> CodeOutcome {
    var record = FleetRecord.empty(account)
    record.state = .enrolled(sealed: sealed)
    // An administrator has handed out the code.
    record.enrolledBy = .root
    record.times.enrolled = vault.clock.wall()
    record.attemptID = randomBytes(Record.attemptIDLength, vault.sodium)
    var lost = 0
    for _ in 0..<Self.mostRounds where lost < 2 {
      let state = try fleet.read(account, workstation)
      if state.record?.record.attemptID == record.attemptID { return .done }
      guard state.revision == proof.charge.revision else { throw Fault(.changedMeanwhile) }
      // It may have moved to another lease. By its nonce no other code has the same value.
      guard let entry = state.code, entry.value == proof.entry.value else { return .noCode }
      let now = FleetCode(charge: proof.charge, entry: entry)
      let outcome = try fleet.commit(setting(record, now, state))
      if let outcome, outcome.succeeded { return .done }
      if outcome == nil { lost += 1 }
    }
    throw Fault.noEtcd
  }

  private func setting(_ record: Record, _ proof: FleetCode, _ state: FleetState) -> EtcdTransaction {
    let value = FleetRecord(record, epoch: fleet.key.epoch).encoded(recordCodec)
    var transaction = EtcdTransaction(
      if: [
        .unchanged(FleetKeys.record(account), revision: proof.charge.revision),
        .unchanged(proof.entry.key, revision: proof.entry.modified),
        .unchanged(FleetKeys.epoch, revision: state.epochRevision),
      ],
      [
        .put(FleetKeys.record(account), value: value, lease: 0), .delete(proof.entry.key),
        .delete(FleetKeys.wait(account)), .delete(FleetKeys.busy(account)), .delete(FleetKeys.last(account)),
        .delete(FleetKeys.wrong(account)),
        .delete(FleetKeys.flight(workstation, proof.charge.id)),
      ])
    takeBackCount(&transaction, proof.charge, StationMark(state, limit: fleet.options.stationLimit))
    return transaction
  }
}

/// An attempt with a code: its charge, and the code as it was then.
private struct FleetCode {
  let charge: FleetCharge
  let entry: EtcdEntry
}
