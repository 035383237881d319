public import PasscodePolicy
public import PasscodeSystem

// The acts that need the record, and no key (see Administration.swift).

extension Vault {
  /// Removes the passcode. Needs no key. For root, or a person's own store.
  ///
  /// - Returns: whether there was one.
  public func remove(
    _ account: Account, by authority: Authority, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool {
    try carryOut(.removal(by: authority), account, then: done) ?? false
  }

  /// Removes the passcode of a deleted account, and its disabled state. Needs no key. For root.
  ///
  /// - Parameter account: one of `deletedAccounts`.
  /// - Returns: whether there was anything to remove.
  public func removeDeleted(_ account: Account, then done: (() -> Void)? = nil) throws(Fault) -> Bool {
    try carryOut(.deletion, account, then: done) ?? false
  }

  /// Ends `locked` and `exhausted`. Needs no key. For root, or a person's own store.
  ///
  /// - Returns: whether there were failures to clear; nil if not enrolled.
  public func unlock(
    _ account: Account, by authority: Authority, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool? {
    try carryOut(.unlocking(by: authority), account, then: done)
  }

  /// Disables an account's passcode, or enables it again. Needs no key. For root, or a person's own store.
  ///
  /// - Returns: whether that changed anything; nil if there is no record.
  public func disable(
    _ account: Account, _ disabled: Bool, then done: (() -> Void)? = nil
  ) throws(Fault) -> Bool? {
    try carryOut(.disabling(disabled), account, then: done)
  }

  private enum Act {
    case removal(by: Authority)
    /// The removal of the record of a deleted account.
    case deletion
    case unlocking(by: Authority)
    /// Or, with false, enabling.
    case disabling(Bool)

    /// Taking the passcode back, by root's word alone.
    var isRevocation: Bool {
      switch self {
      case .removal(.direct), .disabling(true): true
      case .removal, .deletion, .unlocking, .disabling(false): false
      }
    }

    /// The marks that stand for what this writes into the record, or that it ends.
    var marks: UInt32 {
      switch self {
      case .removal: RevocationMark.removing.rawValue
      case .disabling(true): RevocationMark.disabling.rawValue
      case .disabling(false), .deletion: RevocationMark.all
      case .unlocking: 0
      }
    }
  }

  /// What an act makes of a record.
  private enum Decision {
    case write
    /// The record is already as wanted.
    case leave
    /// There is no record that could be changed.
    case notEnrolled
  }

  /// - Parameter record: as it is, and with `.write` as it is to be; nil where it is damaged.
  private func decide(_ act: Act, _ account: Account, _ record: inout Record?) throws(Fault) -> Decision {
    switch act {
    case .removal(let authority): return try decideRemoval(account, &record, authority)
    case .deletion:
      // Looked at again under the lock: it may be somebody's by now.
      guard try isDeleted(account.uid, account.name, record) else { return .notEnrolled }
      if let record, record.state == .removed, !record.disabled { return .leave }
      record = Record(uid: account.uid, name: record?.name ?? account.name, generation: 0)
    case .unlocking(let authority): return try decideUnlocking(account, &record, authority)
    case .disabling(let disabled):
      guard let before = record else { throw corrupt(account) }
      // Somebody else's from before the uid was given away: today's account is meant.
      if try !isSameAccount(before, account) {
        record = Record(uid: account.uid, name: account.name, generation: 0)
      }
      guard record?.disabled != disabled else { return .leave }
      record?.disabled = disabled
    }
    return .write
  }

  private func decideUnlocking(
    _ account: Account, _ record: inout Record?, _ authority: Authority
  ) throws(Fault) -> Decision {
    guard let before = record else { throw corrupt(account) }
    guard before.state != .removed, try isSameAccount(before, account) else { return .notEnrolled }
    guard before.ledger != .clear else { return .leave }
    record?.ledger = .clear
    record?.unlockedBy = lastUnlock(before, authority)
    return .write
  }

  /// What the password unlocked once stays marked so until a passcode is set again: root's unlock vouches for no
  /// passcode that somebody else may have guessed or set.
  private func lastUnlock(_ record: Record, _ authority: Authority) -> Record.Proof {
    switch record.unlockedBy {
    case .nobody, .root: proof(authority) ?? record.unlockedBy
    case .unknown, .password, .passcode: record.unlockedBy
    }
  }

  private func decideRemoval(
    _ account: Account, _ record: inout Record?, _ authority: Authority
  ) throws(Fault) -> Decision {
    if let record {
      try check(authority, record)
      if record.state == .removed { return .leave }
    }
    var removed = Record(uid: account.uid, name: record?.name ?? account.name, generation: 0)
    removed.disabled = record?.disabled ?? false
    record = removed
    return .write
  }

  /// Under the record's lock, replaces it by what the act makes of it.
  ///
  /// - Parameter done: is called once a replacement is written.
  /// - Returns: whether it was replaced; nil where there is no record, or nobody enrolled.
  private func carryOut(_ act: Act, _ account: Account, then done: (() -> Void)?) throws(Fault) -> Bool? {
    let store = try Store.open(configuration)
    // It goes after the record's lock.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    switch try acquire(store, account, act.isRevocation ? act.marks : nil) {
    case .missing: return nil
    case .busy: throw busy(account)
    case .locked(var record):
      undisturbed = SignalsBlocked()
      switch try carryOut(act, account, &record) {
      case .write:
        done?()
        return true
      case .leave: return false
      case .notEnrolled: return nil
      }
    }
  }

  private func carryOut(
    _ act: Act, _ account: Account, _ record: inout LockedRecord
  ) throws(Fault) -> Decision {
    var next = record.isCorrupt ? nil : record.current
    let decision = try decide(act, account, &next)
    do throws(Errno) {
      // Also where nothing changes: an act that was cut off after its first copy is finished by repeating it.
      background?.leave()
      if decision == .write {
        guard let next else { return .notEnrolled }
        try record.replace(next)
      } else if !record.isCorrupt {
        try record.update { _ in }
      }
      // What is cut off here is finished by repeating it, too.
      let wasRevoked = record.isRevoked
      try record.unmark(act.marks)
      if case .disabling(false) = act, wasRevoked { return .write }
    } catch {
      throw unwritten(account, error)
    }
    return decision
  }
}
