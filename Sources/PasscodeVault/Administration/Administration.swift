public import PasscodePolicy
public import PasscodeSystem

// What changes a credential or its state. The program decides who has the right to ask: each function says
// who may. All write both copies, so that later damage can't bring back what was there before.
//
// Most take a function that they call once the act is done, before any signal can end the process: for the line in
// the system's log.                                                            test_administration.py

extension Vault {
  /// Sets the new passcode as the account's, whatever was there before; ends `locked` and `exhausted`, not `disabled`.
  /// For root, or a person's own store.
  ///
  /// A change by the old passcode keeps who set and who unlocked it: no passcode becomes an administrator's by that.
  ///
  /// - Parameters:
  ///   - terms: of the new passcode; those of the old one end with it.
  ///   - slot: the right to hash, which a batch brings; nil: it is waited for.
  /// - Throws: a refusal if it may not be chosen (`judge`); nothing is written then.
  package func enroll(
    _ account: Account, _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed,
    by authority: Authority, on terms: NewTerms = NewTerms(), under slot: consuming HashingSlots.Held? = nil,
    then done: (() -> Void)? = nil
  ) throws(EnrolmentError) {
    let choice: Choice
    do throws(Fault) { choice = try judge(account, change) } catch { throw .fault(error) }
    if case .refused(let refusal) = choice { throw .refused(refusal) }
    let enrolment = Enrolment(account: account, authority: authority, terms: terms, done: done)
    defer { unsealed.wipe() }
    do throws(Fault) { try write(enrolment, change.new, &unsealed, slot) } catch { throw .fault(error) }
  }

  private struct Enrolment {
    let account: Account
    let authority: Authority
    let terms: NewTerms
    let done: (() -> Void)?
  }

  private func write(
    _ enrolment: Enrolment, _ new: borrowing NewPasscode, _ unsealed: inout Unsealed,
    _ slot: consuming HashingSlots.Held?
  ) throws(Fault) {
    let account = enrolment.account
    guard Record.canKeep(name: account.name) else {
      throw Fault(.nameTooLong, name: account.name)
    }
    // Before anything is made: without the key there is nothing to enrol with.
    try MachineKey(configuration: configuration).load(&unsealed.key)
    let store = try Store.open(configuration)
    // On a full disk a new file can't be made; an existing one can be written again.
    if try store.open(account.uid) == nil { try store.create(account.uid, content: emptyFile(account)) }
    // It goes after the record's lock: a signal that suspends this process must not leave that locked.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    var slot = slot
    switch try acquire(store, account.uid, &slot) {
    case .missing: throw Fault(.vanishedRecord)
    case .busy: throw busy(account)
    case .locked(var record):
      // Root may have disabled it.
      if record.isCorrupt, enrolment.authority != .direct { throw corrupt(account) }
      try check(enrolment.authority, record.current)
      try MachineKey(configuration: configuration).loadToSeal(&unsealed.key)
      let held = if let given = slot.take() { given } else { try takeHashingSlot(store, account) }
      // Waiting can be interrupted; what follows can't.
      undisturbed = SignalsBlocked()
      guard Credential.make(new.passcode, &unsealed, policy.cost, sodium) else {
        throw Fault(.noMemoryToHash, number: policy.cost.memory >> 10)
      }
      // Another process may hash while this one writes.
      _ = consume held
      if enrolment.authority.provenMark != nil, try hasExpired(&record) { throw Fault(.expiredMeanwhile) }
      try enroll(enrolment, &record, &unsealed)
      enrolment.done?()
    }
  }

  /// The record, locked. A slot is given back rather than kept while somebody else has the record.
  private func acquire(
    _ store: Store, _ uid: UInt32, _ slot: inout HashingSlots.Held?
  ) throws(Fault) -> LockedRecord.Outcome {
    if slot != nil {
      switch try LockedRecord.acquire(store, uid, nil) {
      case .locked(let record): return .locked(record)
      case .missing: return .missing
      case .busy: slot = nil
      }
    }
    return try LockedRecord.acquire(store, uid, clock)
  }

  /// Tells one credential from the next.
  package func mark(_ record: Record) -> Bytes {
    guard case .enrolled(let sealed) = record.state else { return [] }
    return blake2b(sealed[...])
  }

  /// - Throws: a fault unless the passcode that was proven is the record's, and not paused since.
  func check(_ authority: Authority, _ record: Record) throws(Fault) {
    guard let mark = authority.provenMark, mark != self.mark(record) || record.paused else { return }
    throw Fault(.changedMeanwhile)
  }

  private func emptyFile(_ account: Account) -> Bytes {
    let codec = recordCodec
    return codec.encode(Record(uid: account.uid, name: account.name, generation: 1))
      + codec.encode(Record(uid: account.uid, name: account.name, generation: 2))
  }

  private func enroll(
    _ enrolment: Enrolment, _ record: inout LockedRecord, _ unsealed: inout Unsealed
  ) throws(Fault) {
    let (account, authority) = (enrolment.account, enrolment.authority)
    var enrolled = Record(uid: account.uid, name: account.name, generation: 0)
    enrolled.state = .enrolled(sealed: Credential.seal(&unsealed, enrolled, sodium))
    // A later account with the same uid isn't disabled.
    if record.current.disabled { enrolled.disabled = try isSameAccount(record.current, account) }
    enrolled.enrolledBy = proof(authority) ?? record.current.enrolledBy
    enrolled.unlockedBy = proof(authority) == nil ? record.current.unlockedBy : .nobody
    enrolled.times.enrolled = clock.wall()
    // Without terms this reads no clock, so a clock that fails can't prevent an enrolment.
    if enrolment.terms != NewTerms() {
      enrolled.terms = Terms(enrolment.terms, now: try clock.now(), wall: enrolled.times.enrolled)
    }
    do throws(Errno) {
      // A removal that was cut off in its end.
      if record.current.state == .removed { try record.unmark(RevocationMark.removing.rawValue) }
      try record.replace(enrolled)
    } catch {
      throw unwritten(account.uid, error)
    }
  }
}

extension Vault {
  /// Whether the new passcode may be chosen: asked here wherever one is chosen.
  ///
  /// `enroll` asks it, too; programs ask before, to tell a person at once.
  ///
  /// - Throws: a fault if the administrator's list can't be read whole: it would refuse less than it says.
  public func judge(_ account: Account, _ change: borrowing PasscodeChange) throws(Fault) -> Choice {
    guard policy.lengths.allow(change.new.passcode.count) else { return .refused(.length) }
    if policy.weak == .allow { return .accepted }
    let surroundings = try surroundings(account)
    let found = change.read { new, old in
      Weakness.variation(new, of: old) ?? Weakness.of(new, in: surroundings)
    }
    guard let weakness = found else { return .accepted }
    return policy.weak == .refuse ? .refused(.weak(weakness)) : .easy(weakness)
  }

  /// What codes are judged by: the year, the administrator's list, and the account's own data, if one is given.
  public func surroundings(_ account: Account?) throws(Fault) -> Surroundings {
    let site = try weakList()
    guard let account else { return Surroundings(now: clock.wall(), site: site) }
    let details = account.details()
    let person = PersonalData(
      userName: account.name, gecos: details.gecos, uid: account.uid, home: details.home)
    return Surroundings(now: clock.wall(), person: person, site: site)
  }

  private func weakList() throws(Fault) -> WeakList {
    let path = policy.weakList
    if path.isEmpty { return WeakList() }
    guard let content = try configuration.trust(.configuration).text(path) else {
      throw Fault(.noWeakList, path: path)
    }
    return try WeakList(content[...], path: path)
  }
}
