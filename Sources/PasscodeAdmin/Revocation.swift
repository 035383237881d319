public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

// How root takes a passcode back while somebody holds its record. Their owners can stop logins, let them go on in turns, and
// start new ones, so that waiting for the record may take minutes. What is in `SignalsBlocked` when its process is killed is
// a charged attempt.
//
// MUST (attempt):
// 14  Root's `disable`, `remove` and `pause` wait for nobody. If somebody holds the record, the mark (`RevocationMark`) is
//     made durable first: an attempt that looks for it later isn't charged, and one that had looked before is refused when
//     it is to be settled. A process that still holds the record after 1 s is killed through a pidfd, after it was checked
//     once more that it holds this very file (safe because of 7). All of this takes 10 s at most. A holder that can't be
//     killed is named, with exit status 7: it alone may still be let in, if it had already looked at the mark. An
//     interrupted command leaves the passcode as it was, or refused, and is finished by repeating it; `enable` removes both
//     marks. After an interrupted `pause` the passcode may stay disabled until `enable`: the mark might be a `disable`'s.
//     test_revocation.py
//
// - It MUST be over after 10 s, whatever others do.                                          test_revocation.py
// - No process MUST be ended but one that holds this very record then: `Vault.endHolder`.    test_revocation.py
// - Cut off anywhere, it MUST leave the passcode as it was or refused, and be finished by repeating it.
//                                                                                            test_revocation.py

extension Vault {
  /// Removes the passcode. Needs no key. For root, or a person's own store.
  ///
  /// - Returns: whether there was one.
  public func remove(_ account: Account, then done: (() -> Void)? = nil) throws(Fault) -> Bool {
    let marks = RevocationMark.removing.rawValue
    let found = try acquire(account, marks)
    return try carryOut(account, found, ending: marks, then: done) { record throws(Fault) in
      try decideRemoval(account, &record, .direct)
    } ?? false
  }

  /// Disables an account's passcode, or enables it again. Needs no key. For root, or a person's own store.
  ///
  /// - Returns: whether that changed anything; nil if there is no record.
  public func disable(
    _ account: Account, _ disabled: Bool, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool? {
    let marks = RevocationMark.disabling.rawValue
    let found = try disabled ? acquire(account, marks) : acquire(account)
    return try carryOut(account, found, ending: disabled ? marks : RevocationMark.all, then: done) {
      record throws(Fault) in
      guard let before = record else { throw corrupt(account) }
      // The record belongs to an earlier owner of the uid: today's account is meant.
      if try !isSameAccount(before, account) {
        record = Record(uid: account.uid, name: account.name, generation: 0)
      }
      guard record?.disabled != disabled else { return disabled ? .leave : .leaveUnlessMarked }
      record?.disabled = disabled
      return .write
    }
  }

  /// Pauses an account's passcode, and waits for nobody. Needs no key. For root, or a person's own store.
  ///
  /// Its mark is `disable`'s. Only one that it has set itself is taken away: another one is that of a `disable` that isn't
  /// finished, which must not end with the pause.
  ///
  /// - Returns: whether that changed anything; nil if not enrolled.
  public func pauseAtOnce(_ account: Account, then done: (() -> Void)? = nil) throws(Fault) -> Bool? {
    if policy.asksVerifier(account.uid) { return try pauseHere(account, true, then: done) }
    var own: UInt32 = 0
    let found = try acquire(account, RevocationMark.disabling.rawValue, &own)
    return try pause(account, found, true, ending: own, then: done)
  }

  /// Milliseconds.
  private static let patience: UInt64 = 1_000
  private static let longest: UInt64 = 10_000

  private func acquire(_ account: Account, _ marks: UInt32) throws(Fault) -> LockedRecord.Outcome {
    var own: UInt32 = 0
    return try acquire(account, marks, &own)
  }

  /// The record for a revocation.
  ///
  /// - Parameter own: gets the marks that it has set, and that weren't there before.
  private func acquire(
    _ account: Account, _ marks: UInt32, _ own: inout UInt32
  ) throws(Fault) -> LockedRecord.Outcome {
    guard configuration.access == .root else { return try acquire(account) }
    let store = try Store.open(configuration)
    switch try LockedRecord.acquire(store, account.uid, .none) {
    case .locked(let record): return .locked(record)
    case .missing: return .missing
    case .busy:
      own = try mark(store, account, marks)
      return try acquireFromHolders(store, account)
    }
  }

  /// Sets marks on a record's file, and returns when they are on the device.
  ///
  /// - Returns: those that weren't there before.
  private func mark(_ store: Store, _ account: Account, _ marks: UInt32) throws(Fault) -> UInt32 {
    guard let file = try store.open(account.uid) else { return 0 }
    let mode = try store.check(file, account.uid).mode
    do throws(Errno) {
      try file.setMode(mode | marks)
      try file.sync()
    } catch {
      throw unwritten(account.uid, error)
    }
    return marks & ~mode
  }

  private func acquireFromHolders(_ store: Store, _ account: Account) throws(Fault) -> LockedRecord.Outcome {
    let start = clock.milliseconds()
    while true {
      switch try LockedRecord.acquire(store, account.uid, .none) {
      case .locked(let record): return .locked(record)
      case .missing: return .missing
      case .busy:
        guard let start, let now = clock.milliseconds() else { return .busy }
        let waited = SystemClock.elapsed(from: start, to: now)
        if waited >= Vault.longest {
          throw Fault(.revokedAndHeld, path: recordPath(account.uid))
        }
        if waited >= Vault.patience { endHolder(store, account.uid) }
        clock.sleep(2)
      }
    }
  }
}
