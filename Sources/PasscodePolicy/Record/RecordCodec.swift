/// The record file's format, versions 2 and 3.
///
///     offset 0     copy 0   4,096 bytes
///     offset 4096  copy 1   4,096 bytes        the file is 8,192 bytes long, always
///
/// Each copy is a whole record: lines of `name=value`, each ended by a newline, all of them present and in
/// this order, then NUL bytes to the copy's end (a terminal doesn't show them):
///
///     passcode_record=2            the version: 3 where the passcode is paused, else 2
///     generation=12                decimal, as every number here: no sign, no leading zero
///     uid=1000
///     name=alice                   any bytes but control characters
///     state=enrolled               or removed
///     disabled=no                  or yes; in version 3 paused, or both
///     sealed=6f1c…                 hexadecimal; empty where removed
///     enrolled_by=root             what proved the right to set the passcode: root, password, passcode or unknown
///     unlocked_by=nobody           the same for the last unlock; nobody: never unlocked since.
///                                  What isn't root's stays until a passcode is set again
///     must_change=no               or yes: it opens one login; or used: it has opened that, and must be changed
///     expires_time=0               when it expires: wall clock, seconds since 1970; 0: never, and then the next three
///                                  lines are left out
///     seen_time=1767225600         the latest time that was seen, by the same clock,
///     seen_boot=9f2e…              and when that was: the boot's id
///     seen_at=123456               and its CLOCK_BOOTTIME in milliseconds
///     failures=1                   the ledger: consecutive failures,
///     failed_boot=9f2e…            the last one's boot id (32 hexadecimal digits),
///     failed_at=123456             its CLOCK_BOOTTIME in milliseconds,
///     served=no                    and whether its delay was found over
///     failure_service=sudo         the PAM service of the last failure: `Record.serviceName`; may be empty
///     enrolled_time=1767225600     wall clock, seconds since 1970, 0: never; for people, not for decisions
///     success_time=0
///     failure_time=0
///     attempt_id=                  32 hexadecimal digits in a store that several machines share; empty here
///     checksum=51a0…               BLAKE2b-256 of every byte before this line, hexadecimal
///
/// The longest record takes 1,800 bytes of its 4,096: there is room for later versions.
///
/// - A copy is valid only if it is byte for byte what `encode` makes of what it says: every value MUST thus
///   have one spelling, and the reader (`RecordLines`) take no other. Keep to that when you add a field. RecordCodecTests
///   changes every byte, and repairs the checksum; FuzzRecord.
/// - The valid copy with the higher generation is the record. A write goes to the other copy, so a torn
///   write leaves the record as it was.                                                       RecordCodecTests
/// - Generations of two valid copies MUST differ, and MUST leave room to count on: anything else is damage. No generation
///   wraps. They may differ by more than one: after a failed fdatasync, the next attempt may read a copy that never
///   reaches the disk.                                             RecordCodecTests, test_corruption.py
/// - A paused record MUST open nothing for a program that knows no pause: such a program refuses version 3 as a later one.
///                                                                    RecordCodecTests, test_pause.py
/// - A copy of a later version whose checksum is right MUST NOT be taken for damage: it is refused, and nothing is
///   written over it.                                            RecordCodecTests, test_record_version.py
public struct RecordCodec: Sendable {
  /// The latest version; an older one is written if it can hold the record.
  public static let version: UInt64 = 3
  public static let copyLength = 4_096
  public static let copies = 2
  public static let fileLength = copyLength * copies
  /// A higher one is damage: forty thousand writes a second reach it after millions of years.
  public static let highestGeneration: UInt64 = 1 << 62

  private let checksum: @Sendable (ArraySlice<UInt8>) -> Bytes
  private let isZero: @Sendable (ArraySlice<UInt8>) -> Bool

  /// - Parameters:
  ///   - checksum: BLAKE2b with 32 bytes of output, of any number of bytes.
  ///   - isZero: whether all these bytes are 0. libc's is fast, and most of a copy is padding.
  public init(
    checksum: @escaping @Sendable (ArraySlice<UInt8>) -> Bytes,
    isZero: @escaping @Sendable (ArraySlice<UInt8>) -> Bool
  ) {
    self.checksum = checksum
    self.isZero = isZero
  }

  /// One copy: exactly `copyLength` bytes, in the present version.
  ///
  /// - Precondition: `Record.canKeep(name:)`, a `Record.serviceName`, and a sealed credential of at most
  ///   `Record.longestSealed` bytes; then it always fits.
  @inline(never)
  public func encode(_ record: Record) -> Bytes {
    padded(encodeUnpadded(record))
  }

  /// A copy without the NUL bytes at its end.
  package func encodeUnpadded(_ record: Record) -> Bytes {
    var lines = RecordLines()
    var fields = record.fields
    lines.pass(&fields)
    let sum = checksum(lines.text[...])
    _ = lines.value("checksum", hexadecimal(sum))
    return lines.text
  }

  /// With NUL bytes to the copy's end. Appending three thousand of them, one by one, took longer than all the rest.
  package func padded(_ text: Bytes) -> Bytes {
    var copy = Bytes(repeating: 0, count: RecordCodec.copyLength)
    var written = copy.mutableSpan
    let bytes = text.span
    for index in 0..<min(bytes.count, written.count) { written[index] = bytes[index] }
    return copy
  }

  /// The record in one copy, or nil unless it is well-formed and complete.
  @inline(never)
  public func decode(_ copy: ArraySlice<UInt8>) -> Record? {
    guard copy.count == RecordCodec.copyLength else { return nil }
    var lines = RecordLines(copy)
    var fields = Record.Fields(generation: 0, uid: 0, name: [])
    lines.pass(&fields)
    // That is how we would spell it; whether we wrote it, the checksum says.
    return isConfirmed(&lines) ? Record(fields) : nil
  }

  /// No line was wrong, the checksum's is next, it is right, and nothing follows it.
  private func isConfirmed(_ lines: inout RecordLines) -> Bool {
    guard lines.areSound else { return false }
    let sum = checksum(lines.before)
    guard let digits = lines.value("checksum"), bytes(hexadecimal: digits) == sum else { return false }
    return isZero(lines.after)
  }

  /// What a file holds.
  public struct Contents: Equatable, Sendable {
    public let record: Record
    /// The copy that a next write goes to: the damaged or the older one.
    public let nextCopy: Int
    /// Whether one copy can't be read; the next write repairs that one.
    public let damaged: Bool
  }

  /// Chooses the valid copy with the higher generation; nil where neither is valid, both have the same, or it is too high.
  @inline(never)
  public func read(_ file: Bytes) -> Contents? {
    guard file.count == RecordCodec.fileLength else { return nil }
    let first = decode(file[..<RecordCodec.copyLength])
    let second = decode(file[RecordCodec.copyLength...])
    switch (first, second) {
    case (nil, nil): return nil
    case (let copy?, nil): return contents(copy, nextCopy: 1)
    case (nil, let copy?): return contents(copy, nextCopy: 0)
    case (let one?, let two?):
      let isFirstNewer = one.generation > two.generation
      return isFirstNewer ? contents(one, nextCopy: 1, beside: two) : contents(two, nextCopy: 0, beside: one)
    }
  }

  @inline(never)
  private func contents(_ record: Record, nextCopy: Int, beside older: Record? = nil) -> Contents? {
    guard record.generation <= RecordCodec.highestGeneration else { return nil }
    if let older, older.generation == record.generation { return nil }
    return Contents(record: record, nextCopy: nextCopy, damaged: older == nil)
  }

  /// The version of a copy that a later release of this program wrote; nil: there is none.
  @inline(never)
  public func laterVersion(_ file: Bytes) -> UInt64? {
    guard file.count == RecordCodec.fileLength else { return nil }
    return laterVersion(file[..<RecordCodec.copyLength]) ?? laterVersion(file[RecordCodec.copyLength...])
  }

  @inline(never)
  private func laterVersion(_ copy: ArraySlice<UInt8>) -> UInt64? {
    var lines = RecordLines(copy)
    var version: UInt64 = 0
    lines.number("passcode_record", &version)
    guard version > RecordCodec.version, lines.skip(to: "checksum"), isConfirmed(&lines) else { return nil }
    return version
  }
}
