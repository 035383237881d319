package import PasscodePolicy
package import PasscodeSystem

/// The directory of the records: `<store>/<uid>`.
///
/// A record file MUST never be replaced, and never unlinked while its account may be in use: it carries the
/// lock. It appears whole, under its name, or not at all. test_corruption.py, test_power_loss.py
///
/// Root's own record MUST be root's, and not the service account's: an intruder in that account could make one.
/// test_identity.py
///
/// Directory and records MUST be their owner's alone (0700, 0600): root reaches them by CAP_DAC_OVERRIDE, and a
/// group could set the count of failures back. test_tool.py, test_access.py
package final class Store {
  package let directory: Descriptor
  package let status: FileStatus
  private let access: Access
  package let path: Bytes

  private init(_ directory: consuming Descriptor, _ status: FileStatus, _ access: Access, _ path: Bytes) {
    self.directory = directory
    self.status = status
    self.access = access
    self.path = path
  }

  /// - Throws: a fault if the store is missing or not to be trusted.
  package static func open(_ configuration: Configuration) throws(Fault) -> Store {
    let path = configuration.options.policy.store
    switch try configuration.trust(.store).open(path) {
    case .found(let directory, let status):
      return Store(directory, status, configuration.access, path)
    case .missing:
      throw Fault(.noStore, path: path)
    }
  }

  /// The file of a uid, opened and not yet locked; nil if there is none.
  package func open(_ uid: UInt32, _ access: Descriptor.Access = .readWrite) throws(Fault) -> Descriptor? {
    do throws(Errno) { return try find(decimalDigits(UInt64(uid)), access) } catch {
      throw fault(uid, reason(error), error: error.code)
    }
  }

  private func find(_ name: Bytes, _ access: Descriptor.Access) throws(Errno) -> Descriptor? {
    do throws(Errno) { return try directory.open(name, access) } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  private func reason(_ error: Errno) -> Fault.Reason {
    switch error {
    case .symbolicLink: .symbolicLink
    case .denied where access == .root: .deniedToRoot
    default: .failed
    }
  }

  /// Makes the file of a uid, holding `content`, if there is none.
  package func create(_ uid: UInt32, content: Bytes) throws(Fault) {
    let owner = uid == 0 ? 0 : status.owner
    do throws(Errno) { try createFile(decimalDigits(UInt64(uid)), content: content, owner: owner) } catch {
      throw fault(uid, .failed, error: error.code)
    }
  }

  /// Creates a record's file, which appears whole under its name, or not at all.
  private func createFile(_ name: Bytes, content: Bytes, owner: UInt32) throws(Errno) {
    let file = try directory.createNameless(mode: 0o600)
    try file.setMode(0o600)
    if access == .root { try file.setOwner(owner, group: 0) }
    try file.write(content, at: 0)
    try file.sync()
    do throws(Errno) {
      try directory.link(file, as: name)
    } catch {
      if error != .exists { throw error }  // somebody was faster; theirs is as good
    }
    try directory.sync()
  }

  /// A file that all programs share, beside the records; made, holding `content`, if there is none.
  package func openShared(_ name: Bytes, content: Bytes) throws(Fault) -> Descriptor {
    do throws(Errno) {
      if let file = try find(name, .readWrite) { return file }
      try createFile(name, content: content, owner: status.owner)
      return try directory.open(name, .readWrite)
    } catch {
      throw fault(name, error)
    }
  }

  @inline(never)
  func fault(_ name: Bytes, _ error: Errno) -> Fault {
    Fault(.failed, path: joined(path, name), error: error.code)
  }

  /// Checks an open record file: it is the one under that name, and nobody else's.
  ///
  /// - Throws: a fault that says what is wrong with it.
  @inline(never)
  package func check(_ file: borrowing Descriptor, _ uid: UInt32) throws(Fault) -> FileStatus {
    let found: FileStatus
    do throws(Errno) { found = try file.status() } catch { throw fault(uid, .failed, error: error.code) }
    guard found.kind == .file, found.links == 1 else { throw fault(uid, .notPlainRecord) }
    guard uid != 0 && found.owner == status.owner || access.trusts(owner: found.owner) else {
      throw fault(uid, .foreignRecord, name: uid == 0 ? Bytes(text: "root") : Installed.account)
    }
    let writers: UInt32 = found.group == 0 ? 0o002 : 0o022
    guard found.mode & writers == 0 else {
      throw fault(uid, .openRecord)
    }
    return found
  }

  @inline(never)
  package func fault(
    _ uid: UInt32, _ reason: Fault.Reason, name: Bytes = [], number: UInt64 = 0, error: Int32 = 0
  ) -> Fault {
    Fault(reason, path: joined(path, decimalDigits(UInt64(uid))), name: name, number: number, error: error)
  }

  /// What a record file holds; nothing where it hasn't a record's length.
  ///
  /// - Throws: a fault, too, where a later version of this program wrote it.
  func content(_ file: borrowing Descriptor, _ status: FileStatus, _ uid: UInt32) throws(Fault) -> Bytes {
    let content: Bytes
    do throws(Errno) {
      content = status.size == RecordCodec.fileLength ? try file.read(status.size, at: 0) : []
    } catch {
      throw fault(uid, .failed, error: error.code)
    }
    if let version = recordCodec.laterVersion(content) {
      throw fault(uid, .laterVersion, number: version)
    }
    return content
  }
}

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
