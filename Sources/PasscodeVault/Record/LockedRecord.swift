package import PasscodePolicy
package import PasscodeSystem

/// A record file, held exclusively: the only place that reads one in order to write it.
///
/// MUST (attempt):
///  2  The record's exclusive lock is held from reading the ledger until the attempt is settled. From the charge until then
///     all signals that can be blocked are; the waits before that can be interrupted. Parallel attempts on one account are
///     serial, and parallel correct passcodes all succeed.                                          test_parallel.py
///  4  The charge is durable (fdatasync) before Argon2 starts. If it can't be recorded, nothing is verified. An interrupted
///     write leaves no valid copy: that attempt does not count.   test_a_charge_that_cannot_be_written_is_a_refusal,
///     test_a_charge_survives_as_soon_as_verification_begins, test_disk.py
///  6  A success resets the ledger. Every write is synced before the next: two copies in flight could both be torn. A reset
///     that fails or is lost leaves the charge and never changes the verdict (except for 13). A failure writes nothing after
///     the charge. A passcode of the other length is an attempt like any other: skipping it would reveal the length.
///     test_syscalls.py, test_the_other_length_is_an_attempt_like_any_other
///  7  kill -9, power loss, a full disk or a failing fsync at any instruction leaves an untouched record or a charged one:
///     never a refunded attempt, a lost enrolment or an unreadable record.
///     test_every_call.py, test_power_loss.py, test_kernel.py
///  8  A correct passcode works on a full disk: a charge overwrites bytes that were written before (written, not fallocated).
///     That holds on ext4, xfs and tmpfs. Where the file system copies on write (btrfs), a full disk is `unavailable`.
///     test_disk.py
///
/// A write that was cut MUST NOT count: one that lost only its padding would be valid, so `Descriptor.write` spoils it.
/// One that failed otherwise (at its sync, or killed) may count.                                    test_disk.py
package struct LockedRecord: ~Copyable {
  private let lock: FileLock
  /// What the file says; an empty record where no copy can be read.
  package private(set) var current: Record
  /// Whether neither copy can be read, or the record is another user's.
  package private(set) var isCorrupt: Bool
  /// One copy can't be read; the other serves, and the next write repairs it.
  private(set) var isDamaged: Bool
  private var nextCopy: Int
  /// Root is taking the passcode back, or began to: see `RevocationMark`.
  let isRevoked: Bool
  /// Others hold this record all the time: it came after more than a second.
  let isContested: Bool

  package enum Outcome: ~Copyable {
    case locked(LockedRecord)
    case missing
    /// Another process holds the record: an attempt is under way, or stuck.
    case busy
  }

  /// - Parameter patience: by this clock it waits for a process that holds the record, until nothing has moved for 10 s; 120 s
  ///   at most (MUST 12). nil: it doesn't wait.
  package static func acquire(_ store: Store, _ uid: UInt32, _ patience: Clock?) throws(Fault) -> Outcome {
    guard var file = try store.open(uid) else { return .missing }
    let wait = patience.map { Wait(.forRecord, $0) }
    while true {
      switch FileLock.tryLock(file) {
      case .locked(let lock):
        let status = try store.check(lock.file, uid)
        return .locked(try LockedRecord(lock, status, store, uid, isContested: wait?.isLong ?? false))
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
    _ lock: consuming FileLock, _ status: FileStatus, _ store: Store, _ uid: UInt32, isContested: Bool
  ) throws(Fault) {
    let content = try store.content(lock.file, status, uid)
    // Copied over from another user's file: it isn't this user's record, whatever it says.
    let found = recordCodec.read(content).flatMap { $0.record.uid == uid ? $0 : nil }
    current = found?.record ?? Record(uid: uid, name: [], generation: 0)
    isCorrupt = found == nil
    isDamaged = found?.damaged ?? true
    nextCopy = found?.nextCopy ?? 0
    isRevoked = status.mode & RevocationMark.all != 0
    self.isContested = isContested
    self.lock = lock
  }

  /// Looks at the file again: root may have begun to take the passcode back since, and sets its marks without the lock.
  @inline(never)
  func isRevokedByNow(_ store: Store) throws(Fault) -> Bool {
    try store.check(lock.file, current.uid).mode & RevocationMark.all != 0
  }

  /// Takes marks off the record's file, and returns when that is on the device.
  func unmark(_ marks: UInt32) throws(Errno) {
    guard isRevoked else { return }
    try lock.file.setMode(try lock.file.status().mode & ~marks)
    try lock.file.sync()
  }

  /// Writes the record as it is to be, to the copy that isn't in use; returns when it is on the device.
  @inline(never)
  package mutating func write(_ record: Record) throws(Errno) {
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
  package mutating func replace(_ record: Record) throws(Errno) {
    if isCorrupt { try lock.file.setSize(RecordCodec.fileLength) }
    try write(record)
    try write(current)
  }
}

package var recordCodec: RecordCodec { RecordCodec(checksum: blake2b, isZero: isZero) }

/// That root is taking a passcode back: bits in the mode of its record's file, which need neither the record's lock nor
/// space on the disk. Root's tool sets them where somebody holds the record, and takes them away under its lock when the
/// record itself says the same; one that stays belongs to a command that was cut off.
///
///     01000    passcode disable, passcode pause
///     00100    passcode remove
///
/// Writing to the file keeps these bits, and an older version ignores them.
package enum RevocationMark: UInt32 {
  case disabling = 0o1000
  case removing = 0o0100

  package static let all: UInt32 = 0o1100

  /// Whether a status has to say that the passcode is disabled.
  static func refuses(_ status: FileStatus, _ record: Record) -> Bool {
    status.mode & disabling.rawValue != 0 || status.mode & removing.rawValue != 0 && record.state != .removed
  }
}
