internal import PasscodePolicy
internal import PasscodeSystem

/// A record file, held exclusively: the only place that reads one in order to write it.
///
/// MUST 2: what is decided from the record and what is then written happen under one lock.
/// MUST 6: every write is synced before the next one; two copies in flight at once could both be torn.
/// Tests: test_parallel.py, test_syscalls.py.
///
/// A write that was cut MUST NOT count: one that lost only its padding would be valid, so `Descriptor.write` spoils it.
/// One that failed otherwise (at its sync, or killed) may count.                                    test_disk.py
struct LockedRecord: ~Copyable {
  private let lock: FileLock
  /// What the file says; an empty record where no copy can be read.
  private(set) var current: Record
  /// Neither copy can be read, or the record isn't this user's.
  private(set) var isCorrupt: Bool
  /// One copy can't be read; the other serves, and the next write repairs it.
  private(set) var isDamaged: Bool
  /// A copy is of an older version: the next write replaces both.
  private var isOldVersion: Bool
  private var nextCopy: Int
  /// Root is taking the passcode back, or began to: see `RevocationMark`.
  let isRevoked: Bool

  /// How long to wait for its holder.
  enum Patience {
    case none
    /// Until nothing has moved for 10 s; 120 s at most (MUST 12).
    case full(Clock)
  }

  enum Outcome: ~Copyable {
    case locked(LockedRecord)
    case missing
    /// An attempt is under way, or its process is stuck.
    case busy
  }

  static func acquire(_ store: Store, _ uid: UInt32, _ patience: Patience) throws(Fault) -> Outcome {
    guard var file = try store.open(uid) else { return .missing }
    var wait: Wait?
    if case .full(let clock) = patience { wait = Wait(.forRecord, clock) }
    while true {
      switch FileLock.tryLock(file) {
      case .locked(let lock):
        let status = try store.check(lock.file, uid)
        return .locked(try LockedRecord(lock, status, store, uid))
      case .failed(let error):
        throw store.fault(uid, .failed, error: error.code)
      case .busy(let open):
        guard case .again? = wait?.pause({ movement(open, store) }) else { return .busy }
        file = open
      }
    }
  }

  /// A write, or, while the record's holder waits for a hashing slot, a slot that was taken.
  private static func movement(_ file: borrowing Descriptor, _ store: Store) -> Bytes {
    ((try? file.read(RecordCodec.fileLength, at: 0)) ?? []) + HashingSlots.movement(store)
  }

  private init(
    _ lock: consuming FileLock, _ status: Store.Checked, _ store: Store, _ uid: UInt32
  ) throws(Fault) {
    let content: Bytes
    do throws(Errno) {
      content = status.size == RecordCodec.fileLength ? try lock.file.read(status.size, at: 0) : []
    } catch {
      throw store.fault(uid, .failed, error: error.code)
    }
    if let version = recordCodec.laterVersion(content) { throw store.laterVersion(uid, version) }
    // Copied over from another user's file: it isn't this user's record, whatever it says.
    if let found = recordCodec.read(content), found.record.uid == uid {
      current = found.record
      isCorrupt = false
      isDamaged = found.damaged
      isOldVersion = found.isOldVersion
      nextCopy = found.nextCopy
    } else {
      current = Record(uid: uid, name: [], generation: 0)
      isCorrupt = true
      isDamaged = true
      isOldVersion = false
      nextCopy = 0
    }
    isRevoked = status.mode & RevocationMark.all != 0
    self.lock = lock
  }

  /// Looks at the file again: marks are set without its lock.
  func isRevokedByNow(_ store: Store) throws(Fault) -> Bool {
    try store.check(lock.file, current.uid).mode & RevocationMark.all != 0
  }

  /// Takes marks away; returns when that is on the device.
  func unmark(_ marks: UInt32) throws(Errno) {
    guard isRevoked else { return }
    try lock.file.setMode(try lock.file.status().mode & ~marks)
    try lock.file.sync()
  }

  /// Changes the record, in the copy that isn't in use; returns when it is on the device.
  @inline(never)
  mutating func update(_ change: (inout Record) -> Void) throws(Errno) {
    var next = current
    change(&next)
    try write(next)
    // An older package would go on with the other copy, and its older count. If this fails, the next write does it.
    if isOldVersion { isOldVersion = (try? write(current)) == nil }
  }

  private mutating func write(_ record: Record) throws(Errno) {
    var next = record
    next.generation = current.generation + 1  // there is room: RecordCodec.highestGeneration
    try lock.file.write(recordCodec.encode(next), at: nextCopy * RecordCodec.copyLength)
    try lock.file.syncData()
    current = next
    nextCopy = 1 - nextCopy
    isDamaged = isCorrupt
    isCorrupt = false
  }

  /// Writes both copies, one after the other: what was there before can't come back through later damage.
  mutating func replace(_ record: Record) throws(Errno) {
    if isCorrupt { try lock.file.setSize(RecordCodec.fileLength) }
    try write(record)
    try write(current)
    isOldVersion = false
  }
}

var recordCodec: RecordCodec { RecordCodec(checksum: blake2b, isZero: isZero) }
