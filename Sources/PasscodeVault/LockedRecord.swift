internal import PasscodePolicy
internal import PasscodeSystem

/// A record file, held exclusively: the only place that reads one in order to write it.
///
/// MUST 2: what is decided from the record and what is then written happen under one lock.
/// MUST 6: every write is synced before the next one; two slots in flight at once could both be torn.
struct LockedRecord: ~Copyable {
  private let lock: FileLock
  private let codec: RecordCodec
  /// nil: neither slot can be read.
  private(set) var contents: RecordCodec.Contents?

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
    var wait = MovementWait(codec: recordCodec)
    while true {
      switch FileLock.tryLock(file) {
      case .locked(let lock):
        let size = try store.check(lock.file, uid)
        return .locked(try LockedRecord(lock, size, store, uid))
      case .failed(let error):
        throw store.fault(uid, Text(error.text))
      case .busy(let open):
        if patience == .none || !wait.pause(open) { return .busy }
        file = open
      }
    }
  }

  private init(_ lock: consuming FileLock, _ size: Int, _ store: borrowing Store, _ uid: UInt32) throws(Fault) {
    codec = recordCodec
    do throws(Errno) {
      contents = size == RecordCodec.fileLength ? codec.read(try lock.file.read(size, at: 0)) : nil
    } catch {
      throw store.fault(uid, Text(error.text))
    }
    // Copied over from another user's file: it isn't this user's record, whatever it says.
    if let found = contents, found.record.uid != uid { contents = nil }
    self.lock = lock
  }

  /// Writes the record into the slot that isn't in use; returns when it is on the device.
  @inline(never)
  mutating func write(_ record: Record) throws(Errno) {
    var next = record
    let slot = contents?.nextSlot ?? 0
    next.generation = (contents?.record.generation ?? 0) &+ 1  // 2^64 writes don't happen
    try lock.file.write(codec.encode(next), at: slot * RecordCodec.slotLength)
    try lock.file.syncData()
    contents = RecordCodec.Contents(record: next, nextSlot: 1 - slot, damaged: false)
  }

  /// Writes both slots, one after the other: what was there before can't come back through later damage.
  mutating func replace(_ record: Record) throws(Errno) {
    if contents == nil { try lock.file.setSize(RecordCodec.fileLength) }
    try write(record)
    try write(record)
  }
}

var recordCodec: RecordCodec { RecordCodec { blake2b($0) } }

/// Waits for somebody else's lock for as long as something moves.
struct MovementWait {
  /// Nothing moved for so long: whoever holds it is stuck. Milliseconds.
  static let stuck: UInt64 = 10_000
  static let longest: UInt64 = 120_000
  private static let lookEvery: UInt64 = 250

  private let codec: RecordCodec
  private var started: UInt64?
  private var lastMove: UInt64 = 0
  private var lastLook: UInt64 = 0
  private var generation: UInt64?
  private var pauseMilliseconds = 1

  init(codec: RecordCodec) {
    self.codec = codec
  }

  /// Sleeps a little; false when waiting is over.
  mutating func pause(_ file: borrowing Descriptor) -> Bool {
    guard let now = SystemClock.bootMilliseconds() else { return false }
    if started == nil {
      started = now
      lastMove = now
    }
    look(file, now)
    guard let started, now - lastMove < MovementWait.stuck, now - started < MovementWait.longest else {
      return false
    }
    SystemClock.sleep(milliseconds: pauseMilliseconds)
    pauseMilliseconds = min(pauseMilliseconds * 2, 16)
    return true
  }

  @inline(never)
  private mutating func look(_ file: borrowing Descriptor, _ now: UInt64) {
    guard generation == nil || now - lastLook >= MovementWait.lookEvery else { return }
    lastLook = now
    // Read without the lock: a torn slot doesn't count, the other one does.
    let found = (try? file.read(RecordCodec.fileLength, at: 0)).flatMap { codec.read($0) }
    guard let now = found?.record.generation, now != generation else { return }
    generation = now
    lastMove = lastLook
  }
}
