public import PasscodePolicy
public import PasscodeSystem

// The acts that need the record, and no key (see Administration.swift): those of a person who proved something, and what
// root's acts (PasscodeAdmin) have in common with them.

extension Vault {
  /// Removes the passcode. Needs no key. For the helper, which has seen the proof.
  ///
  /// - Returns: whether there was one.
  public func remove(_ account: Account, by authority: Authority) throws(Fault) -> Bool {
    let found = try acquire(account)
    let marks = RevocationMark.removing.rawValue
    return try carryOut(account, found, ending: marks) { record throws(Fault) in
      try decideRemoval(account, &record, authority)
    } ?? false
  }

  /// Ends `locked` and `exhausted`. Needs no key. For root, the helper, or a person's own store.
  ///
  /// - Returns: whether there were failures to clear; nil if not enrolled.
  public func unlock(
    _ account: Account, by authority: Authority, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool? {
    try carryOut(account, acquire(account), ending: 0, then: done) { record throws(Fault) in
      guard let before = record else { throw corrupt(account) }
      guard before.state != .removed, try isSameAccount(before, account) else { return .notEnrolled }
      guard before.ledger != .clear else { return .leave }
      record?.ledger = .clear
      // What the password unlocked once stays marked so until a passcode is set again: root's unlock vouches for no
      // passcode that somebody else may have guessed or set.
      switch before.unlockedBy {
      case .nobody, .root: record?.unlockedBy = proof(authority) ?? before.unlockedBy
      case .unknown, .password, .passcode: break
      }
      return .write
    }
  }

  /// Pauses the passcode, or ends the pause: see `Record.paused`. Needs no key. For root, a person's own store, or the
  /// helper, which ends a pause only after it has checked the password. It waits for an attempt that is under way.
  ///
  /// - Returns: whether that changed anything; nil if not enrolled.
  public func pause(
    _ account: Account, _ paused: Bool, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool? {
    if policy.asksVerifier(account.uid) { return try pauseHere(account, paused, then: done) }
    return try pause(account, acquire(account), paused, ending: 0, then: done)
  }

  package func pause(
    _ account: Account, _ found: consuming LockedRecord.Outcome, _ paused: Bool, ending marks: UInt32,
    then done: (() -> Void)?
  ) throws(Fault) -> Bool? {
    try carryOut(account, found, ending: marks, then: done) { record throws(Fault) in
      guard let before = record else { throw corrupt(account) }
      guard before.state != .removed, try isSameAccount(before, account) else { return .notEnrolled }
      guard before.paused != paused else { return .leave }
      record?.paused = paused
      return .write
    }
  }

  /// Ends what the account's password ends: a pause, and the wait for a login by other means than the passcode. For root's
  /// processes and the helper, which have just had the password accepted by `PasswordService`.
  ///
  /// - Returns: whether there was a pause; nil if not enrolled.
  @discardableResult
  public func takeProof(of account: Account) throws(Fault) -> Bool? {
    try noteProof(of: account)
    return try pause(account, false)
  }

  /// What an act makes of a record.
  package enum Decision {
    case write
    /// The record is already as wanted.
    case leave
    /// The record is already as wanted, but ending a mark that refused the passcode is a change.
    case leaveUnlessMarked
    /// There is no record that could be changed.
    case notEnrolled
  }

  package func decideRemoval(
    _ account: Account, _ record: inout Record?, _ authority: Authority
  ) throws(Fault) -> Decision {
    if let record {
      try check(authority, record)
      if record.state == .removed { return .leave }
    } else if authority != .direct {
      throw corrupt(account)  // root may have disabled it
    }
    var removed = Record(uid: account.uid, name: record?.name ?? account.name, generation: 0)
    removed.disabled = record?.disabled ?? false
    record = removed
    return .write
  }

  /// The record for an act that waits until nobody else holds it.
  package func acquire(_ account: Account) throws(Fault) -> LockedRecord.Outcome {
    try LockedRecord.acquire(Store.open(configuration), account.uid, clock)
  }

  /// Under the record's lock, replaces it by what the act makes of it.
  ///
  /// - Parameters:
  ///   - marks: those that stand for what this writes into the record, or that it ends.
  ///   - done: is called once a replacement is written.
  ///   - decide: gets the record as it is, and with `.write` leaves it as it is to be; nil where it is damaged.
  /// - Returns: whether it was replaced; nil where there is no record, or nobody enrolled.
  package func carryOut(
    _ account: Account, _ found: consuming LockedRecord.Outcome, ending marks: UInt32,
    then done: (() -> Void)? = nil, _ decide: (inout Record?) throws(Fault) -> Decision
  ) throws(Fault) -> Bool? {
    // It goes after the record's lock.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    switch consume found {
    case .missing: return nil
    case .busy: throw busy(account)
    case .locked(var record):
      undisturbed = SignalsBlocked()
      var next = record.isCorrupt ? nil : record.current
      switch try finish(decide(&next), next, account, &record, marks) {
      case .write:
        done?()
        return true
      case .leave, .leaveUnlessMarked: return false
      case .notEnrolled: return nil
      }
    }
  }

  private func finish(
    _ decision: Decision, _ next: Record?, _ account: Account, _ record: inout LockedRecord, _ marks: UInt32
  ) throws(Fault) -> Decision {
    do throws(Errno) {
      // Also where nothing changes: an act that was cut off after its first copy is finished by repeating it.
      if case .write = decision {
        guard let next else { return .notEnrolled }
        try record.replace(next)
      } else if !record.isCorrupt {
        try record.write(record.current)
      }
      // What is cut off here is finished by repeating it, too.
      let wasRevoked = record.isRevoked
      try record.unmark(marks)
      if case .leaveUnlessMarked = decision, wasRevoked { return .write }
    } catch {
      throw unwritten(account.uid, error)
    }
    return decision
  }
}
