package import PasscodePolicy
package import PasscodeSystem

/// The right to run one Argon2 now, for logins, enrolments and changes alike: 500 logins at once don't take
/// 500 × memlimit.
///
/// The machine has `max_parallel` hashing slots, and as many overflow slots, which a process may take once it has
/// waited for 2 s. People can stop their own login while it holds a slot, let it go on and stop the next one; all
/// the while something moves. Their record's lock gives them one slot at a time, so others wait for 2 s, not longer.
/// A fleet's verifiers may take one after about 4 s in the anteroom, and after 60 s in any case (`Manner.inFleet`).
///
///     <store>/places     128 bytes; their values mean nothing
///       0 …  63          locked: this hashing slot is taken
///      64 … 127          locked: this overflow slot is taken
///     128 and above      locked: this place in a fleet's anteroom is taken, until its holder gives its slot back or gives up
///
/// The file keeps its old name, and one of 64 bytes from an older version serves as it is: bytes beyond the end can
/// be locked, too. The locks are open-file-description locks: threads exclude each other, and a process that dies
/// gives its slot back. Taking a slot touches the file, so that those who wait see that something moves.
///
/// MUST (attempt):
/// 12  Every wait ends, and every hash of a login, an enrolment or a change is under a slot: at most twice `max_parallel` at
///     once on the whole machine, also where something runs short (`Errno.isShortage`): that is `unavailable`, uncharged. The
///     record's lock is taken before the slot; only a batch takes a slot first, and gives it back rather than wait for a record
///     with it. Where no slot was taken for 9 s, counted anew after a sleep that was over
///     a second late, all holders are stuck: hashing goes on without a slot, and that is logged. After 120 s the attempt is
///     `unavailable`, uncharged.
///     test_hashing_slots.py, HashingSlotsTests, WaitTests, test_parallel.py
package enum HashingSlots {
  /// How a process waits.
  package struct Manner: Sendable {
    /// Milliseconds of looking for a slot after which an overflow slot may be taken, whatever moved.
    let overflowAfter: UInt64
    /// Whether there is an anteroom: processes in it look for a slot every 40 ms; the others only check whether it has room,
    /// every 250 ms at first, every 900 ms after 10 s. 300 processes that all looked for a slot would use a third of the
    /// processor's time.
    let hasAnteroom: Bool

    package static let usual = Manner(overflowAfter: 2_000, hasAnteroom: false)
    /// In a crowd, running more hashes at once only makes each finish later; and while slots become free, hardly anyone is in
    /// the anteroom for as long as 4 s, unless a hash takes more than half a second.
    package static let inFleet = Manner(overflowAfter: 4_000, hasAnteroom: true)
  }

  package static let firstOverflow = Options.Policy.mostParallel
  /// Places in the anteroom for each hashing slot, and in addition to these. Those outside come at their slow pace: the last of
  /// a crowd must be in it, or slots are free while they wait.
  private static let (anteroomEach, anteroom) = (4, 4)
  /// Milliseconds of waiting after which an overflow slot may be taken outside the anteroom, too: people who stop their own
  /// logins on a server, one after another, keep a fleet's crowd no longer.
  private static let latestOverflow: UInt64 = 60_000

  package static var name: Bytes { Bytes(text: "places") }

  package static var nothing: Bytes { Bytes(repeating: 0, count: 2 * Options.Policy.mostParallel) }

  /// As configured; or one for each processor, at least 2, and no more than a quarter of the memory holds.
  ///
  /// - Parameters:
  ///   - configured: `max_parallel`; 0: `auto`.
  ///   - hash: bytes that one takes.
  ///   - memory: bytes of the machine.
  /// - Returns: 1 to `mostParallel`.
  static func count(_ configured: UInt64, hash: UInt64, processors: Int, memory: UInt64) -> Int {
    if configured > 0 { return min(Int(clamping: configured), Options.Policy.mostParallel) }
    let fitting = Int(clamping: memory / 4 / max(hash, 1))
    return max(1, min(max(2, processors), fitting, Options.Policy.mostParallel))
  }

  /// A hashing slot that this process holds; it is given back when the value goes.
  package struct Held: ~Copyable {
    private let lock: ByteLock?
    /// For so long that the record's marks may have changed.
    let hasWaited: Bool

    package init(_ lock: consuming ByteLock?, hasWaited: Bool = true) {
      self.lock = lock
      self.hasWaited = hasWaited
    }
  }

  /// Tells one moment from another: a slot was taken in between.
  static func movement(_ store: Store) -> Bytes {
    guard let file = try? store.directory.open(name, .readWrite) else { return [] }
    return movement(file)
  }

  private static func movement(_ file: borrowing Descriptor) -> Bytes {
    decimalDigits((try? file.status().modified) ?? 0)
  }

  /// Waits for one of so many slots, or of as many overflow slots.
  ///
  /// - Precondition: the record's lock is held.
  /// - Parameters:
  ///   - manner: when an overflow slot may be taken instead, and who looks for a slot.
  ///   - note: is told when there is none, and hashing goes on without.
  static func take(
    _ store: Store, _ count: Int, _ clock: Clock, _ manner: Manner, _ note: (Fault) -> Void
  ) throws(Fault) -> Held {
    do throws(Fault) {
      return try wait(store, count, clock, manner, note)
    } catch {
      // A file that can't be used keeps nobody out, and nobody but its owner can have made it so. A shortage is different:
      // 40 people with `ulimit -n 6` would hash at once.
      let failure = Int32(error.error)
      if failure == 0 || Errno(failure).isShortage { throw error }
      note(Fault(.noSlots, path: error.path, error: failure))
      return Held(nil)
    }
  }

  private static func wait(
    _ store: Store, _ count: Int, _ clock: Clock, _ manner: Manner, _ note: (Fault) -> Void
  ) throws(Fault) -> Held {
    let file = try store.openShared(name, content: nothing)
    let wait = Wait(.forSlot, clock)
    let places = 2 * firstOverflow..<2 * firstOverflow + anteroomEach * count + anteroom
    var (isNear, isStuck) = (!manner.hasAnteroom, false)
    // When an overflow slot may be taken as well, in milliseconds of waiting.
    var overflowAt = isNear ? manner.overflowAfter : latestOverflow
    while true {
      do throws(Errno) {
        if !isNear, try ByteLock.lockOne(of: places, in: file) != nil {
          isNear = true
          overflowAt = min(overflowAt, wait.elapsed + manner.overflowAfter)
        }
        let orOverflow = isStuck || wait.elapsed >= overflowAt
        if isNear || orOverflow, let slot = try lock(file, count, orOverflow: orOverflow) {
          let lock = ByteLock(file, at: slot)
          try tell(lock.file)
          return Held(lock, hasWaited: wait.elapsed > 0)
        }
      } catch {
        throw store.fault(name, error)
      }
      let least = isNear ? 0 : min(250 + wait.elapsed / 16, 900)
      switch wait.pause(atLeast: Int(truncatingIfNeeded: least), { movement(file) }) {
      case .again: continue
      case .stuck:
        // Those that stand still may be others in the anteroom: then slots are free.
        if !isStuck {
          isStuck = true
          continue
        }
        note(Fault(.stuckSlots))
        return Held(nil)
      case .tooLong:
        throw Fault(.noHashingSlot)
      }
    }
  }

  /// Shows those who wait that something moves. Where that can't be shown, only patience is lost; where something ran
  /// short, those who wait would take it for a standstill, and hash without a slot.
  private static func tell(_ file: borrowing Descriptor) throws(Errno) {
    do throws(Errno) { try file.touch() } catch { if error.isShortage { throw error } }
  }

  private static func lock(
    _ file: borrowing Descriptor, _ count: Int, orOverflow: Bool
  ) throws(Errno) -> Int? {
    if let slot = try ByteLock.lockOne(of: 0..<count, in: file) { return slot }
    return orOverflow ? try ByteLock.lockOne(of: firstOverflow..<firstOverflow + count, in: file) : nil
  }
}

extension Vault {
  /// How many may hash at once; as many again when those who wait have waited for long enough.
  public var hashingSlots: Int {
    HashingSlots.count(
      policy.maxParallel, hash: policy.cost.memory, processors: Machine.processors, memory: Machine.memory)
  }

  /// Waits for the right to hash, which ends with the value that this returns.
  ///
  /// - Precondition: the account's record is locked.
  package func takeHashingSlot(
    _ store: Store, _ account: Account, _ manner: HashingSlots.Manner = .usual
  ) throws(Fault) -> HashingSlots.Held {
    try HashingSlots.take(store, hashingSlots, clock, manner) {
      note($0.reason, account, path: $0.path, error: Int32($0.error))
    }
  }

  /// Tests that a hash can have its memory, before it is charged. libsodium takes a little more than it is told.
  package func reserveMemory(for cost: Options.Cost) throws(Fault) {
    do throws(Errno) {
      try PasscodeSystem.reserveMemory(cost.memory + 1 << 18)
    } catch {
      throw Fault(.noMemoryToVerify, number: cost.memory >> 10, error: error.code)
    }
  }
}

/// Waits for something that others hold, for as long as anything moves. A sleep that lasted over a second longer than asked
/// says nothing about the others: the machine was suspended, or this process stopped. It counts towards the longest wait all
/// the same.                                                                                                     WaitTests
package final class Wait {
  package enum Outcome {
    /// The caller looks again, whether it has what it waits for.
    case again
    /// Nothing has moved for long: the process that holds it is stopped or frozen.
    case stuck
    /// The wait took as long as any may, though things moved.
    case tooLong
  }

  /// In milliseconds.
  package struct Limits {
    let withoutMovement: UInt64
    let longest: UInt64
    /// Whether it looks more often the longer it has waited.
    let quickens: Bool
    /// The longest pause.
    let pause: Int

    package init(withoutMovement: UInt64, longest: UInt64, quickens: Bool = false, pause: Int = 40) {
      self.withoutMovement = withoutMovement
      self.longest = longest
      self.quickens = quickens
      self.pause = pause
    }

    /// The limits for a record, whose holder may take it again at once. Among 32 threads that did so, looking every
    /// 40 ms, some waited for 2 minutes; so those that wait longest look most often.             test_parallel.py
    static var forRecord: Limits { Limits(withoutMovement: 10_000, longest: 120_000, quickens: true) }
    /// Shorter, so that those who wait for a record still see its holder stop waiting and go on.
    static var forSlot: Limits { Limits(withoutMovement: 9_000, longest: 120_000) }
  }

  private static let lookEvery: UInt64 = 250

  /// Milliseconds since the first pause began.
  private(set) var elapsed: UInt64 = 0
  private let limits: Limits
  private let clock: Clock
  private var started: UInt64?
  private var lastMove: UInt64 = 0
  private var lastLook: UInt64 = 0
  private var seen = Bytes()
  private var pauseMilliseconds: Int

  @inline(never)
  package init(_ limits: Limits, _ clock: Clock, firstPause: Int = 1) {
    self.limits = limits
    self.clock = clock
    pauseMilliseconds = firstPause
  }

  /// Sleeps a little, longer each time, at first.
  ///
  /// - Parameters:
  ///   - least: the shortest sleep, in milliseconds, below 1,000 (`SystemClock.sleep`).
  ///   - movement: what changes when something moves.
  @inline(never)
  package func pause(atLeast least: Int = 0, _ movement: () -> Bytes) -> Outcome {
    guard let now = clock.milliseconds() else { return .stuck }
    let start = started ?? now
    if started == nil || SystemClock.elapsed(from: lastLook, to: now) >= Wait.lookEvery {
      lastLook = now
      let current = movement()
      if started == nil || current != seen { lastMove = now }
      seen = current
      started = start
    }
    elapsed = SystemClock.elapsed(from: start, to: now)
    if SystemClock.elapsed(from: lastMove, to: now) >= limits.withoutMovement { return .stuck }
    if elapsed >= limits.longest { return .tooLong }
    let length = max(pauseMilliseconds, least)
    clock.sleep(length)
    if let woken = clock.milliseconds(), SystemClock.elapsed(from: now, to: woken) > UInt64(length) + 1_000 {
      lastMove = woken
    }
    pauseMilliseconds = min(pauseMilliseconds * 2, longestPause)
    return .again
  }

  /// Whether the wait has taken more than a second.
  var isLong: Bool { elapsed > 1_000 }

  /// Where it quickens, 1 ms less for each quarter of a second.
  private var longestPause: Int {
    guard limits.quickens else { return limits.pause }
    return max(1, limits.pause &- Int(truncatingIfNeeded: elapsed / 250))
  }
}
