public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

extension Vault {
  /// Gives an account's record the account's new name, after `usermod -l`. Until then the account counts as not enrolled.
  /// The passcode, its failures and the disabled state stay. For root, who confirms with both names that it is the same
  /// person.
  ///
  /// The credential is sealed for the old name, so this needs the key.                            test_rename.py
  ///
  /// - Parameters:
  ///   - account: under its new name.
  ///   - done: called once the record has the new name, if it had the old one.
  /// - Returns: whether the record had the old name: false also if this was interrupted before; then this finishes it.
  ///   nil: the account has no passcode, or its record has a third name.
  public func rename(
    _ account: Account, from old: Bytes, _ unsealed: inout Unsealed, then done: () -> Void
  ) throws(Fault) -> Bool? {
    guard Record.canKeep(name: account.name) else { throw Fault(.nameTooLong, name: account.name) }
    try MachineKey(configuration: configuration).load(&unsealed.key)
    defer { unsealed.wipe() }
    // It goes after the record's lock.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    switch try LockedRecord.acquire(Store.open(configuration), account.uid, clock) {
    case .missing: return nil
    case .busy: throw busy(account)
    case .locked(var record):
      undisturbed = SignalsBlocked()
      if record.isCorrupt { throw corrupt(account) }
      let isRenamed = record.current.name == account.name
      guard let renamed = try renamed(record.current, account, from: old, &unsealed) else { return nil }
      do throws(Errno) { try record.replace(renamed) } catch { throw unwritten(account.uid, error) }
      if isRenamed { return false }
      done()
      return true
    }
  }

  private func renamed(
    _ before: Record, _ account: Account, from old: Bytes, _ unsealed: inout Unsealed
  ) throws(Fault) -> Record? {
    guard before.name == old || before.name == account.name else { return nil }
    // A disabled state is kept without a passcode, too.
    guard before.state != .removed || before.disabled else { return nil }
    var record = before
    record.name = account.name
    if case .enrolled = before.state {
      _ = try openCredential(before, &unsealed)
      record.state = .enrolled(sealed: Credential.seal(&unsealed, record, sodium))
    }
    return record
  }
}
