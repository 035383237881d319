internal import PasscodePolicy
internal import PasscodeSystem

// How root takes a passcode back while somebody holds its record. Their owners can stop logins, let them go on in turns, and
// start new ones, so that waiting for the record may take minutes. So: first the mark, from which on no attempt is let in
// that looks at it (`RevocationMark`); then the holder of the record gets a second, and is ended. That is safe, because no
// attempt loses anything by being killed (MUST 7). What is in `SignalsBlocked` when it is ended is a charged attempt.
//
// - It MUST be over after 10 s, whatever others do.                                          test_revocation.py
// - No process MUST be ended but one that holds this very record then: `Vault.endHolder`.    test_revocation.py
// - Cut off anywhere, it MUST leave the passcode as it was or refused, and be finished by repeating it.
//                                                                                            test_revocation.py

extension Vault {
  /// Milliseconds.
  private static let patience: UInt64 = 1_000
  private static let longest: UInt64 = 10_000

  /// The record for an act.
  ///
  /// - Parameter marks: what root's revocation is marked with; nil: another act, which waits for the record.
  func acquire(_ store: Store, _ account: Account, _ marks: UInt32?) throws(Fault) -> LockedRecord.Outcome {
    guard configuration.access == .root, let marks else {
      return try LockedRecord.acquire(store, account.uid, .full(clock))
    }
    switch try LockedRecord.acquire(store, account.uid, .none) {
    case .locked(let record): return .locked(record)
    case .missing: return .missing
    case .busy:
      try mark(store, account, marks)
      return try acquireFromHolders(store, account)
    }
  }

  /// Sets marks on a record's file, and returns when they are on the device.
  private func mark(_ store: Store, _ account: Account, _ marks: UInt32) throws(Fault) {
    guard let file = try store.open(account.uid) else { return }
    let mode = try store.check(file, account.uid).mode
    do throws(Errno) {
      try file.setMode(mode | marks)
      try file.sync()
    } catch {
      throw unwritten(account, error)
    }
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
