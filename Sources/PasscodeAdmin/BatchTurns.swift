public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

/// What is different for a batch: it can wait, so logins come first. It takes a hashing slot only while another one stays
/// free for them, and never hashes without a slot. One worker process enrols one user.     test_batch.py
///
/// - A stuck (stopped, frozen) process MUST NOT keep it waiting for ever: after 9 s in which nobody took a slot, or 120 s in
///   which others did, overflow slots count, too. That goes on, line by line, for as long as the same slots are held.
/// - While it waits, its workers MUST end soon after they were asked to stop: `Workers.endIfStopped`.
/// - They MUST NOT write once the process is gone that started them: `Workers.endIfAlone`.
public final class BatchTurns {
  /// Milliseconds: longer than a login that waits for a slot sleeps, which therefore finds a single slot free between
  /// two hashes.
  private static let longestPause = 50
  /// Milliseconds: most waits end by a ring.
  private static let firstPause = 10

  private let workers: Workers
  /// The hashing slots that stuck processes hold; empty: none. A worker tells the process that started it.
  public var stuckSlots = Bytes()
  /// The worker's wait for a hashing slot, until it has one.
  private var wait: Wait?
  private var hasWaitedLong = false

  public init(_ workers: Workers) {
    self.workers = workers
  }

  /// What the vault of a batch is made with.
  public var background: Background {
    Background(
      begin: begin, take: { (store, count) throws(Fault) in try self.take(store, count) }, pause: pause,
      leave: leave)
  }

  /// The kernel's clock, for the vault of a batch: its workers can be stopped while they wait.
  public var clock: Clock {
    let clock = Clock.system
    return clock.sleeping { [workers] in
      workers.endIfStopped()
      clock.sleep($0)
    }
  }

  private func begin(_ vault: Vault, _ store: Store) {
    let clock = vault.clock
    let workers = workers
    if vault.hashingSlots == 1 {
      clock.sleep(BatchTurns.longestPause)
      wait = newWait(clock.sleeping { _ in clock.sleep(BatchTurns.longestPause) })
    } else {
      // Most waits are for another worker's hash.
      wait = newWait(
        clock.sleeping {
          workers.endIfStopped()
          workers.awaitRing(milliseconds: $0)
        })
    }
  }

  private func newWait(_ clock: Clock) -> Wait {
    Wait(.forSlot, clock, firstPause: BatchTurns.firstPause)
  }

  private func take(_ store: Store, _ count: Int) throws(Fault) -> HashingSlots.Held? {
    try HashingSlots.takeInBackground(
      store, count, stuck: { isFree in isStuck(isFree) || hasWaitedLong }, returned: { workers.ring() })
  }

  /// Whether the slots that were held at the last look are all held still.
  private func isStuck(_ isFree: (Int) -> Bool) -> Bool {
    for slot in stuckSlots where isFree(Int(slot)) {
      stuckSlots = []
      return false
    }
    return !stuckSlots.isEmpty
  }

  private func pause(_ store: Store, _ count: Int) {
    switch wait?.pause({ HashingSlots.anyMovement(store) }) {
    case .again, nil: return
    case .stuck, .tooLong:
      stuckSlots = HashingSlots.held(store, count)
      hasWaitedLong = true
      wait?.begin()
    }
  }

  private func leave() {
    workers.ring()
    workers.endIfAlone()
  }
}

extension Wait {
  /// Begins a new wait, of full length.
  fileprivate func begin() {
    started = nil
    clock.sleep(pauseMilliseconds)
  }
}

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
