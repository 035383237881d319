public import PasscodePolicy
public import PasscodeSystem

extension Vault {
  /// Gives an account's record its new name, after `usermod -l`: until then it counts as not enrolled. The passcode, its
  /// failures and the disabled state stay. For root, who says by both names that it is the same person.
  ///
  /// The credential is sealed for its name, so this needs the key.                                test_rename.py
  ///
  /// - Parameter account: as it is named today.
  /// - Returns: false if the record isn't of the old name, or there is none; it is of the new one where this was
  ///   interrupted, and is finished then.
  public func rename(
    _ account: Account, from old: Bytes, _ unsealed: inout Unsealed, then done: () -> Void
  ) throws(Fault) -> Bool {
    guard Record.canKeep(name: account.name) else { throw Fault(.nameTooLong, name: account.name) }
    try MachineKey(configuration: configuration).load(&unsealed.key)
    defer { unsealed.wipe() }
    switch try LockedRecord.acquire(Store.open(configuration), account.uid, .full(clock)) {
    case .missing: return false
    case .busy: throw busy(account)
    case .locked(var record):
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      if record.isCorrupt { throw corrupt(account) }
      guard let renamed = try renamed(record.current, account, from: old, &unsealed) else { return false }
      do throws(Errno) { try record.replace(renamed) } catch { throw unwritten(account, error) }
      done()
      return true
    }
  }

  private func renamed(
    _ before: Record, _ account: Account, from old: Bytes, _ unsealed: inout Unsealed
  ) throws(Fault) -> Record? {
    guard before.name == old || before.name == account.name else { return nil }
    var record = before
    record.name = account.name
    if case .enrolled = before.state {
      _ = try openCredential(before, &unsealed)
      record.state = .enrolled(sealed: Credential.seal(unsealed, record, sodium))
    }
    return record
  }
}
