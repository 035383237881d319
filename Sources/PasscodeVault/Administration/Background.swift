public import PasscodePolicy
public import PasscodeSystem

// What is different for a batch: it can wait, so logins come first.                   test_batch.py

extension Vault {
  /// Whether the account has a passcode. If its enrolment was cut off between the two copies of the record, this
  /// finishes it. For root.
  public func hasPasscode(_ account: Account) throws(Fault) -> Bool {
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
    switch try LockedRecord.acquire(store, account.uid, .none) {
    case .missing: return
    case .busy: return
    case .locked(var record):
      guard !record.isCorrupt else { return }
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      do throws(Errno) { try record.update { _ in } } catch { throw unwritten(account, error) }
    }
  }

  /// The right to hash; nil: a batch has to wait, and must release the record's lock first, because a login may need it.
  ///
  /// - Precondition: the account's record is locked.
  func takeEnrolmentSlot(_ store: Store, _ account: Account) throws(Fault) -> HashingSlots.Held? {
    if background == nil { return try takeHashingSlot(store, account) }
    return try HashingSlots.takeInBackground(store, policy.hashingSlots)
  }
}

/// A batch's waiting for its turn to hash.
struct BackgroundTurn {
  /// Milliseconds: longer than a login that waits for a slot sleeps. So if there is only one slot, the login finds it
  /// free between two hashes.
  private static let longestPause = 50

  private let vault: Vault
  /// Milliseconds so far.
  private var waited = 0

  init(_ vault: Vault) {
    self.vault = vault
    guard vault.background != nil, vault.policy.hashingSlots == 1 else { return }
    sleep(BackgroundTurn.longestPause)
  }

  /// Sleeps a little, and longer each time: a wait that goes on isn't for another line of this batch.
  mutating func wait() {
    let pause = min(max(3, waited / 40), BackgroundTurn.longestPause)
    sleep(pause)
    waited += pause
  }

  private func sleep(_ milliseconds: Int) {
    vault.background?()
    vault.clock.sleep(milliseconds)
  }
}
