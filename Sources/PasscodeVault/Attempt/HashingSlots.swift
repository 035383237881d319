package import PasscodePolicy
package import PasscodeSystem

/// The right to run one Argon2 now, for logins, enrolments and changes alike: 500 logins at once don't take
/// 500 × memlimit.
///
/// The machine has `max_parallel` hashing slots, and as many overflow slots, which a process may take once it has
/// waited for 2 s. People can stop their own login while it holds a slot, let it go on and stop the next one; all
/// the while something moves. Their record's lock gives them one slot at a time, so others wait for 2 s, not longer.
/// A fleet's verifiers take one after 8 s (`FleetVault.takeHashingSlot`).
///
///     <store>/places     128 bytes; their values mean nothing
///       0 …  63          locked: this hashing slot is taken
///      64 … 127          locked: this overflow slot is taken
///
/// The file keeps its old name, and one of 64 bytes from an older version serves as it is: bytes beyond the end can
/// be locked, too. The locks are open-file-description locks: threads exclude each other, and a process that dies
/// gives its slot back. Taking a slot touches the file, so that those who wait see that something moves.
///
/// MUST (attempt):
/// 12  Every wait ends, and every hash of a login, an enrolment or a change is under a slot: at most twice `max_parallel` at
///     once on the whole machine, also where something runs short (`Errno.isShortage`): that is `unavailable`, uncharged. The
///     record's lock is always taken before the slot. Where no slot was taken for 9 s, all holders are stuck: hashing goes on
///     without a slot, and that is logged. After 120 s of movement the attempt is `unavailable`, uncharged.
///     test_hashing_slots.py, HashingSlotsTests, WaitTests, test_parallel.py
package enum HashingSlots {
  /// Milliseconds of waiting after which an overflow slot may be taken, whatever moved.
  package static let overflowAfter: UInt64 = 2_000
  package static let firstOverflow = Options.Policy.mostParallel

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
  ///   - overflowAfter: milliseconds of waiting after which an overflow slot will do, too.
  ///   - note: is told when there is none, and hashing goes on without.
  static func take(
    _ store: Store, _ count: Int, _ clock: Clock, overflowAfter: UInt64, _ note: (Fault) -> Void
  ) throws(Fault) -> Held {
    do throws(Fault) {
      return try wait(store, count, clock, overflowAfter, note)
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
    _ store: Store, _ count: Int, _ clock: Clock, _ overflowAfter: UInt64, _ note: (Fault) -> Void
  ) throws(Fault) -> Held {
    let file = try store.openShared(name, content: nothing)
    let wait = Wait(.forSlot, clock)
    while true {
      do throws(Errno) {
        if let slot = try lock(file, count, orOverflow: wait.elapsed >= overflowAfter) {
          let lock = ByteLock(file, at: slot)
          try tell(lock.file)
          return Held(lock, hasWaited: wait.elapsed > 0)
        }
      } catch {
        throw store.fault(name, error)
      }
      switch wait.pause({ movement(file) }) {
      case .again: continue
      case .stuck:
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
  /// - Parameter overflowAfter: as in `HashingSlots.take`.
  package func takeHashingSlot(
    _ store: Store, _ account: Account, overflowAfter: UInt64 = HashingSlots.overflowAfter
  ) throws(Fault) -> HashingSlots.Held {
    try HashingSlots.take(store, hashingSlots, clock, overflowAfter: overflowAfter) {
      note($0.reason, account, path: $0.path, error: Int32($0.error))
    }
  }

  /// The right to hash for an enrolment; nil: it has to wait.
  ///
  /// - Precondition: the account's record is locked.
  func takeEnrolmentSlot(_ store: Store, _ account: Account) throws(Fault) -> HashingSlots.Held? {
    guard let background else { return try takeHashingSlot(store, account) }
    return try background.take(store, hashingSlots)
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
