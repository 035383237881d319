/// The record file's format, version 1.
///
///     offset 0     slot 0   4,096 bytes
///     offset 4096  slot 1   4,096 bytes        the file is 8,192 bytes long, always
///
/// Each slot is a whole record: lines of `name=value`, each ended by a newline, all of them present and in
/// this order, then NUL bytes to the slot's end (a terminal doesn't show them):
///
///     passcode_record=1            the version
///     generation=12                decimal, as every number here: no sign, no leading zero
///     uid=1000
///     name=alice                   any bytes but control characters
///     state=enrolled               or removed
///     suspended=no                 or yes
///     sealed=6f1c…                 hexadecimal; empty where removed
///     failures=1                   the ledger: consecutive failures,
///     failed_boot=9f2e…            the last one's boot id (32 hexadecimal digits),
///     failed_at=123456             its CLOCK_BOOTTIME in milliseconds,
///     served=no                    and whether its delay was found over
///     enrolled_time=1767225600     wall clock, seconds since 1970, 0: never; for people, not for decisions
///     success_time=0
///     failure_time=0
///     checksum=51a0…               BLAKE2b-256 of every byte before this line, hexadecimal
///
/// - A slot is valid only if it is byte for byte what `encode` makes of what it says. So every value MUST have
///   one spelling, and the reader take no other: whoever adds a field keeps to that. Test: RecordCodecTests changes
///   every byte, and repairs the checksum; FuzzRecord.
/// - The valid slot with the higher generation is the record. A write goes to the other slot, so a torn
///   write leaves the record as it was.
public struct RecordCodec: Sendable {
  public static let slotLength = 4_096
  public static let slots = 2
  public static let fileLength = slotLength * slots
  public static let checksumLength = 32

  private let checksum: @Sendable (ArraySlice<UInt8>) -> Bytes
  private let isZero: @Sendable (ArraySlice<UInt8>) -> Bool

  /// - Parameters:
  ///   - checksum: BLAKE2b with 32 bytes of output, of any number of bytes.
  ///   - isZero: whether all these bytes are 0. libc's is fast, and most of a slot is padding.
  public init(
    checksum: @escaping @Sendable (ArraySlice<UInt8>) -> Bytes,
    isZero: @escaping @Sendable (ArraySlice<UInt8>) -> Bool
  ) {
    self.checksum = checksum
    self.isZero = isZero
  }

  /// One slot: exactly `slotLength` bytes.
  ///
  /// - Precondition: `Record.canKeep(name:)`, and a sealed credential of at most `Record.longestSealed`
  ///   bytes; then it always fits.
  @inline(never)
  public func encode(_ record: Record) -> Bytes {
    var text = fields(of: record)
    text.append(line: "checksum", hexadecimal(checksum(text[...])))
    return text + Bytes(repeating: 0, count: max(0, RecordCodec.slotLength - text.count))
  }

  /// The record in one slot, or nil if there is any doubt.
  @inline(never)
  public func decode(_ slot: ArraySlice<UInt8>) -> Record? {
    guard slot.count == RecordCodec.slotLength else { return nil }
    var reader = FieldReader(slot)
    guard let record = reader.record(), record.isSound else { return nil }
    // That is how we would spell it; whether we wrote it, the checksum says.
    let sum = checksum(reader.before)
    guard let digits = reader.value("checksum"), bytes(hexadecimal: digits) == sum, isZero(reader.after)
    else { return nil }
    return record
  }

  /// What a file holds.
  public struct Contents: Equatable, Sendable {
    public let record: Record
    /// The slot that a next write goes to: the damaged or the older one.
    public let nextSlot: Int
    /// The other slot can't be read: the next write repairs it.
    public let damaged: Bool

    public init(record: Record, nextSlot: Int, damaged: Bool) {
      self.record = record
      self.nextSlot = nextSlot
      self.damaged = damaged
    }
  }

  /// Chooses the valid slot with the higher generation; nil where neither is valid.
  @inline(never)
  public func read(_ file: Bytes) -> Contents? {
    guard file.count == RecordCodec.fileLength else { return nil }
    let first = decode(file[..<RecordCodec.slotLength])
    let second = decode(file[RecordCodec.slotLength...])
    switch (first, second) {
    case (nil, nil): return nil
    case (let record?, nil): return Contents(record: record, nextSlot: 1, damaged: true)
    case (nil, let record?): return Contents(record: record, nextSlot: 0, damaged: true)
    case (let one?, let two?):
      return one.generation >= two.generation
        ? Contents(record: one, nextSlot: 1, damaged: false)
        : Contents(record: two, nextSlot: 0, damaged: false)
    }
  }

  /// The record of a file, as `read` chooses it, without decoding the other slot where that makes no difference.
  public func latest(_ file: Bytes) -> Record? {
    guard file.count == RecordCodec.fileLength else { return nil }
    let first = file[..<RecordCodec.slotLength]
    let second = file[RecordCodec.slotLength...]
    let isSecondNewer = claimedGeneration(second) > claimedGeneration(first)
    let (newer, older) = isSecondNewer ? (second, first) : (first, second)
    return decode(newer) ?? decode(older)
  }

  /// What a slot that nobody verified says of itself.
  @inline(never)
  private func claimedGeneration(_ slot: ArraySlice<UInt8>) -> UInt64 {
    var reader = FieldReader(slot)
    guard reader.number("passcode_record") != nil else { return 0 }
    return reader.number("generation") ?? 0
  }

  private func fields(of record: Record) -> Bytes {
    var text = Bytes()
    text.reserveCapacity(RecordCodec.slotLength)
    text.append(line: "passcode_record", 1)
    text.append(line: "generation", record.generation)
    text.append(line: "uid", UInt64(record.uid))
    text.append(line: "name", record.name)
    var sealed: Bytes?
    if case .enrolled(let credential) = record.state { sealed = hexadecimal(credential) }
    text.append(line: "state", Bytes(text: sealed == nil ? "removed" : "enrolled"))
    text.append(line: "suspended", yesNo(record.suspended))
    text.append(line: "sealed", sealed ?? [])
    text.append(line: "failures", UInt64(record.ledger.failures))
    text.append(line: "failed_boot", record.ledger.lastFailure.boot.hexadecimalText)
    text.append(line: "failed_at", record.ledger.lastFailure.milliseconds)
    text.append(line: "served", yesNo(record.ledger.served))
    text.append(line: "enrolled_time", record.times.enrolled)
    text.append(line: "success_time", record.times.success)
    text.append(line: "failure_time", record.times.failure)
    return text
  }
}

extension Record {
  fileprivate var isSound: Bool {
    switch state {
    case .removed: Record.canKeep(name: name)
    case .enrolled(let sealed):
      Record.canKeep(name: name) && !sealed.isEmpty && sealed.count <= Record.longestSealed
    }
  }
}

@inline(never)
private func yesNo(_ flag: Bool) -> Bytes {
  Bytes(text: flag ? "yes" : "no")
}

extension Bytes {
  @inline(never)
  fileprivate mutating func append(line name: String, _ value: Bytes) {
    append(text: name)
    append(UInt8(ascii: "="))
    append(contentsOf: value)
    append(UInt8(ascii: "\n"))
  }

  @inline(never)
  fileprivate mutating func append(line name: String, _ value: UInt64) {
    append(line: name, decimalDigits(value))
  }
}

/// Reads the lines of a slot in their order.
private struct FieldReader {
  private let slot: ArraySlice<UInt8>
  /// Where the next line starts.
  private var position: Int

  init(_ slot: ArraySlice<UInt8>) {
    self.slot = slot
    position = slot.startIndex
  }

  /// The lines that were read.
  var before: ArraySlice<UInt8> { slot[..<position] }
  /// What comes after them.
  var after: ArraySlice<UInt8> { slot[position...] }

  /// The value of the next line, if that line has this name.
  @inline(never)
  mutating func value(_ name: String) -> ArraySlice<UInt8>? {
    guard let value = place(name) else { return nil }
    position = value.upperBound + 1
    return slot[value]
  }

  private func place(_ name: String) -> Range<Int>? {
    let text = name.utf8.span
    var end = position
    for index in text.indices {
      guard end < slot.endIndex, slot[end] == text[index] else { return nil }
      end += 1
    }
    let start = end + 1
    guard end < slot.endIndex, slot[end] == UInt8(ascii: "=") else { return nil }
    while slot[end] != UInt8(ascii: "\n") {
      end += 1
      guard end < slot.endIndex else { return nil }
    }
    return start..<end
  }

  @inline(never)
  mutating func number(_ name: String) -> UInt64? {
    guard let digits = value(name) else { return nil }
    return decimal(digits)
  }

  @inline(never)
  mutating func flag(_ name: String) -> Bool? {
    guard let word = value(name) else { return nil }
    if word.spells("yes") { return true }
    return word.spells("no") ? false : nil
  }

  mutating func record() -> Record? {
    guard let version = number("passcode_record"), version == 1, let generation = number("generation"),
      let uid = number("uid"), uid <= UInt64(UInt32.max), let name = value("name"),
      let state = value("state"), let suspended = flag("suspended"), let sealed = value("sealed"),
      let ledger = ledger(), let times = times()
    else { return nil }
    var record = Record(uid: UInt32(uid), name: Bytes(name), generation: generation)
    if state.spells("enrolled") {
      guard let credential = bytes(hexadecimal: sealed) else { return nil }
      record.state = .enrolled(sealed: credential)
    } else {
      guard state.spells("removed"), sealed.isEmpty else { return nil }
    }
    record.suspended = suspended
    record.ledger = ledger
    record.times = times
    return record
  }

  private mutating func ledger() -> Ledger? {
    guard let failures = number("failures"), failures <= UInt64(UInt32.max),
      let text = value("failed_boot"), let boot = BootID(hexadecimal: text),
      let milliseconds = number("failed_at"), let served = flag("served")
    else { return nil }
    let lastFailure = Instant(boot: boot, milliseconds: milliseconds)
    return Ledger(failures: UInt32(failures), lastFailure: lastFailure, served: served)
  }

  private mutating func times() -> Record.Times? {
    guard let enrolled = number("enrolled_time"), let success = number("success_time"),
      let failure = number("failure_time")
    else { return nil }
    return Record.Times(enrolled: enrolled, success: success, failure: failure)
  }
}
