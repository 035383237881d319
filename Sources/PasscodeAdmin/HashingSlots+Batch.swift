public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

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
