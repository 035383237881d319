public import PasscodePolicy
public import PasscodePrograms
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

extension HashingSlots {
  /// Makes the file where there is none: with the store, while there is room on the disk.
  static func make(_ store: Store) throws(Fault) {
    _ = try store.openShared(name, content: nothing)
  }

  /// What tells a batch that slots were taken in between, by logins or by batches.
  static func anyMovement(_ store: Store) -> Bytes {
    guard let status = try? store.directory.open(name, .readWrite).status() else { return [] }
    return decimalDigits(status.modified) + decimalDigits(status.accessed)
  }

  /// Takes a slot for a batch only if another one stays free for logins, unless there is only one; nil: not now. It doesn't
  /// change the file's modification time: logins that wait for stuck holders would take that for movement.
  ///
  /// - Parameters:
  ///   - stuck: whether those who hold slots don't move; asked once. Then logins use overflow slots: an overflow slot, too,
  ///     can be taken, or be the one that stays free.
  ///   - returned: called if it took one, and gave it back because somebody else took the other one at that moment. Then
  ///     it should try again soon: that one may have given back its own, too.
  /// - Throws: a fault if the slots can't be opened.
  static func takeInBackground(
    _ store: Store, _ count: Int, stuck: (_ isFree: (Int) -> Bool) -> Bool, returned: () -> Void
  ) throws(Fault) -> Held? {
    let file = try store.openShared(name, content: nothing)
    let overflow = stuck { ByteLock.isFree(file, at: $0) } ? firstOverflow + count : firstOverflow
    let needed = count == 1 ? 1 : 2
    // Looked at before any is locked: a lock that is held only to look would keep others from theirs.
    let free = free(file, Array(0..<count) + Array(firstOverflow..<overflow))
    guard free.count >= needed else { return nil }
    for slot in free where (try? ByteLock.tryLock(file, at: slot)) == true {
      guard Self.free(file, free).count >= needed else {
        ByteLock.unlock(file, at: slot)
        returned()
        return nil
      }
      try? file.touchAccess()
      return Held(ByteLock(file, at: slot))
    }
    returned()
    return nil
  }

  /// The slots of a list that no other process has locked.
  private static func free(_ file: borrowing Descriptor, _ slots: [Int]) -> [Int] {
    var free: [Int] = []
    for slot in slots where ByteLock.isFree(file, at: slot) { free.append(slot) }
    return free
  }

  /// Which of so many slots somebody holds.
  static func held(_ store: Store, _ count: Int) -> Bytes {
    guard let file = try? store.directory.open(name, .readWrite) else { return [] }
    var held = Bytes()
    for slot in 0..<count where !ByteLock.isFree(file, at: slot) { held.append(byte: UInt8(slot)) }
    return held
  }
}

extension Vault {
  /// How many hashing slots are taken just now, overflow slots included.
  public var takenSlots: Int {
    guard let store = try? Store.open(configuration),
      let file = try? store.directory.open(HashingSlots.name, .readWrite)
    else {
      return 0
    }
    let slots = 0..<2 * HashingSlots.firstOverflow
    return slots.count { !ByteLock.isFree(file, at: $0) }
  }

  /// How many hashes a batch can run at once, each in a process of its own, on processors of their own.
  public var parallelHashes: Int { min(max(1, hashingSlots - 1), Machine.processors) }
}

extension Options.Policy {
  /// The most bytes that a hash may need, so that `max_parallel` hashes (with `auto` one for each processor, at least two)
  /// fit into a quarter of the machine's memory.
  public var largestMemory: UInt64 {
    let slots = maxParallel > 0 ? maxParallel : UInt64(max(2, Machine.processors))
    return Machine.memory / 4 / slots
  }
}
