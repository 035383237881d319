internal import PasscodePolicy
internal import PasscodeSystem

/// A record file, held exclusively: the only place that reads one in order to write it.
///
/// MUST 2: what is decided from the record and what is then written happen under one lock.
/// MUST 6: every write is synced before the next one; two slots in flight at once could both be torn.
///
/// A write that was cut MUST NOT count: one that lost only its padding would be valid, so `Descriptor.write` spoils it.
/// One that failed otherwise (at its sync, or killed) may count.                                    test_disk.py
struct LockedRecord: ~Copyable {
  private let lock: FileLock
  /// What the file says; an empty record where neither slot can be read.
  private(set) var current: Record
  /// Neither slot can be read, or the record isn't this user's.
  private(set) var isCorrupt: Bool
  /// One slot can't be read; the other serves, and the next write repairs it.
  private(set) var isDamaged: Bool
  private var nextSlot: Int

  /// How long to wait for whoever holds it.
  enum Patience: Equatable {
    case none
    /// Until nothing has moved for 10 s; 120 s at most (MUST 12).
    case full
  }

  enum Outcome: ~Copyable {
    case locked(LockedRecord)
    case missing
    /// An attempt is under way, or its process is stuck.
    case busy
  }

  static func acquire(_ store: borrowing Store, _ uid: UInt32, _ patience: Patience) throws(Fault) -> Outcome
  {
    guard var file = try store.open(uid) else { return .missing }
    var wait = Wait(stuckAfter: Wait.forRecord)
    while true {
      switch FileLock.tryLock(file) {
      case .locked(let lock):
        let size = try store.check(lock.file, uid)
        return .locked(try LockedRecord(lock, size, store, uid))
      case .failed(let error):
        throw store.fault(uid, Text(error.text))
      case .busy(let open):
        if patience == .none { return .busy }
        guard case .again = wait.pause({ movement(open, store) }) else { return .busy }
        file = open
      }
    }
  }

  /// A write, or, while the record's holder waits for a place, a place that was taken.
  private static func movement(_ file: borrowing Descriptor, _ store: borrowing Store) -> Bytes {
    ((try? file.read(RecordCodec.fileLength, at: 0)) ?? []) + Places.movement(store)
  }

  private init(_ lock: consuming FileLock, _ size: Int, _ store: borrowing Store, _ uid: UInt32) throws(Fault)
  {
    let content: Bytes
    do throws(Errno) {
      content = size == RecordCodec.fileLength ? try lock.file.read(size, at: 0) : []
    } catch {
      throw store.fault(uid, Text(error.text))
    }
    // Copied over from another user's file: it isn't this user's record, whatever it says.
    if let found = recordCodec.read(content), found.record.uid == uid {
      current = found.record
      isCorrupt = false
      isDamaged = found.damaged
      nextSlot = found.nextSlot
    } else {
      current = Record(uid: uid, name: [], generation: 0)
      isCorrupt = true
      isDamaged = true
      nextSlot = 0
    }
    self.lock = lock
  }

  /// Changes the record, in the slot that isn't in use; returns when it is on the device.
  mutating func update(_ change: (inout Record) -> Void) throws(Errno) {
    change(&current)
    current.generation &+= 1  // 2^64 writes don't happen
    try lock.file.write(recordCodec.encode(current), at: nextSlot * RecordCodec.slotLength)
    try lock.file.syncData()
    nextSlot = 1 - nextSlot
    isDamaged = isCorrupt
    isCorrupt = false
  }

  /// Writes both slots, one after the other: what was there before can't come back through later damage.
  mutating func replace(_ record: Record) throws(Errno) {
    if isCorrupt { try lock.file.setSize(RecordCodec.fileLength) }
    let generation = current.generation
    try update {
      $0 = record
      $0.generation = generation
    }
    try update { _ in }
  }
}

var recordCodec: RecordCodec { RecordCodec(checksum: blake2b, isZero: isZero) }
