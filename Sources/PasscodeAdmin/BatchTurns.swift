public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

/// A batch's turns to hash: it can wait, so logins come first.                                       test_batch.py
///
/// - It MUST take a hashing slot only while another one stays free for logins. A single slot it takes only if it was free at
///   two looks, between which each login that waits looks, too.
/// - A stuck (stopped, frozen) process MUST NOT keep it waiting for ever: after 9 s in which nobody took a slot, or 120 s in
///   which others did, overflow slots count, too. That goes on, line by line, for as long as the same slots are held.
/// - It MUST NOT look like movement to logins that wait for stuck processes.
public final class BatchTurns {
  /// A hashing slot for one line, which a worker takes over. It is free again once no process has it. Until this value goes,
  /// Ctrl-Z can't suspend the process.
  public struct Turn: ~Copyable {
    // They go in this order: the file is closed before a signal can suspend the process.
    private var file: Descriptor?
    private let place: Int
    private let undisturbed: SignalsBlocked

    fileprivate init(_ file: consuming Descriptor, _ place: Int, _ undisturbed: consuming SignalsBlocked) {
      self.file = consume file
      self.place = place
      self.undisturbed = undisturbed
    }

    /// The slot, once, for `Vault.enroll`. For the worker only: in its parent, this would unlock the slot for both.
    package mutating func slot() -> HashingSlots.Held? {
      guard let file = file.take() else { return nil }
      return HashingSlots.Held(ByteLock(file, at: place))
    }
  }

  /// Milliseconds: longer than a login that waits for a slot sleeps, so that it looks first.
  private static let polite = 50
  /// Milliseconds between two looks while no login takes a slot.
  private static let quick = 2

  private let vault: Vault
  /// When a login last took a slot, and when that was seen.
  private var lastTaken: (modified: UInt64?, seen: UInt64) = (nil, 0)
  /// The wait for the next turn, once it has begun.
  private var wait: Wait?
  /// When the last look ended.
  private var looked: UInt64 = 0
  /// Whether the only slot was free at the last look.
  private var wasFree = false
  /// The hashing slots that stuck processes held at the last look; empty: none.
  private var stuck = Bytes()
  private var hasWaitedLong = false

  /// - Parameter vault: the one that the batch enrols with.
  public init(_ vault: Vault) {
    self.vault = vault
  }

  /// Whether stuck processes hold hashing slots, so that overflow slots count, too.
  public var isHindered: Bool { !stuck.isEmpty }

  /// The turn for one hash; nil after a little while in which there was none.
  public func take() throws(Fault) -> Turn? {
    let store = try Store.open(vault.configuration)
    // What this process did in between, suspended perhaps, says nothing about others.
    if SystemClock.elapsed(from: looked, to: now) > 1_000 { wait = nil }
    defer { looked = now }
    if wait == nil { wasFree = false }
    if let turn = try takeNow(store) {
      wait = nil
      hasWaitedLong = false
      return turn
    }
    let wait = wait ?? Wait(.forBatch, vault.clock)
    self.wait = wait
    let pause = isToBePolite(store) ? BatchTurns.polite : BatchTurns.quick
    if case .again = wait.pause(atLeast: pause, { BatchTurns.movement(store) }) { return nil }
    stuck = held(store)
    hasWaitedLong = true
    self.wait = nil
    return nil
  }

  private var now: UInt64 { vault.clock.milliseconds() ?? 0 }

  func takeNow(_ store: Store) throws(Fault) -> Turn? {
    let undisturbed = SignalsBlocked()
    let file = try store.openShared(HashingSlots.name, content: HashingSlots.nothing)
    // Somebody gave one back: these aren't stuck.
    if stuck.contains(where: { ByteLock.isFree(file, at: Int($0)) }) { stuck = [] }
    let count = vault.hashingSlots
    let overflow = isHindered || hasWaitedLong ? count : 0
    let needed = count == 1 ? 1 : 2
    let places = Array(0..<count) + Array(HashingSlots.firstOverflow..<HashingSlots.firstOverflow + overflow)
    // Looked at before any is locked: a lock that is held only to look would keep others from theirs.
    let free = places.filter { ByteLock.isFree(file, at: $0) }
    defer { wasFree = !free.isEmpty }
    guard free.count >= needed, count > 1 || wasFree else { return nil }
    for place in free where (try? ByteLock.tryLock(file, at: place)) == true {
      // Somebody else may have taken the others at this moment.
      guard free.count(where: { ByteLock.isFree(file, at: $0) }) >= needed else { return nil }
      try? file.touchAccess()
      return Turn(file, place, undisturbed)
    }
    return nil
  }

  /// Whether a login has taken a slot in the last second, or there is only one.
  private func isToBePolite(_ store: Store) -> Bool {
    let taken = try? store.directory.open(HashingSlots.name, .readWrite).status().modified
    if taken != lastTaken.modified { lastTaken = (taken, lastTaken.modified == nil ? 0 : now) }
    return vault.hashingSlots == 1 || SystemClock.elapsed(from: lastTaken.seen, to: now) < 1_000
  }

  /// What tells that slots were taken in between, by logins or by batches. The latter change only the time of access.
  private static func movement(_ store: Store) -> Bytes {
    guard let status = try? store.directory.open(HashingSlots.name, .readWrite).status() else { return [] }
    return decimalDigits(status.modified) + decimalDigits(status.accessed)
  }

  /// Which slots somebody holds.
  private func held(_ store: Store) -> Bytes {
    guard let file = try? store.directory.open(HashingSlots.name, .readWrite) else { return [] }
    var held = Bytes()
    for place in 0..<vault.hashingSlots where !ByteLock.isFree(file, at: place) {
      held.append(byte: UInt8(place))
    }
    return held
  }
}

extension Wait.Limits {
  fileprivate static var forBatch: Wait.Limits {
    Wait.Limits(withoutMovement: 9_000, longest: 120_000, pause: 1)
  }
}

extension Vault {
  /// How many hashes a batch can run at once, each in a process of its own, on processors of their own.
  public var parallelHashes: Int { min(max(1, hashingSlots - 1), Machine.processors) }
}
