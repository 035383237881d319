public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

extension Vault {
  /// Finishes the account's enrolment, if it was cut off between the two copies of the record. For root.
  ///
  /// - Returns: whether the account has a passcode.
  public func finishEnrolment(_ account: Account) throws(Fault) -> Bool {
    let store = try Store.open(configuration)
    guard let reading = try read(store, account.uid), let record = reading.record, record.state != .removed,
      try isSameAccount(record, account)
    else { return false }
    if try !isInBothCopies(record.state, store, account.uid) { try finish(store, account) }
    return true
  }

  private func isInBothCopies(_ state: Record.State, _ store: Store, _ uid: UInt32) throws(Fault) -> Bool {
    guard let file = try store.open(uid), let content = try? file.read(RecordCodec.fileLength, at: 0) else {
      return false
    }
    let half = min(content.count, RecordCodec.copyLength)
    return recordCodec.decode(content[..<half])?.state == state
      && recordCodec.decode(content[half...])?.state == state
  }

  private func finish(_ store: Store, _ account: Account) throws(Fault) {
    // It goes after the record's lock.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    switch try LockedRecord.acquire(store, account.uid, .none) {
    case .missing: return
    case .busy: return
    case .locked(var record):
      guard !record.isCorrupt else { return }
      undisturbed = SignalsBlocked()
      do throws(Errno) { try record.write(record.current) } catch { throw unwritten(account.uid, error) }
    }
  }
}
