import Testing

@testable import PasscodePolicy

struct RecordCodecTests {
  private let codec = RecordCodec(checksum: { testChecksum($0) }, isZero: { $0.allSatisfy { $0 == 0 } })

  private static func enrolled(
    name: String = "alice", generation: UInt64 = 12, sealed: Int = 100, largest: Bool = false
  ) -> Record {
    var record = Record(uid: largest ? .max : 1_000, name: Bytes(text: name), generation: generation)
    record.state = .enrolled(sealed: Bytes((0..<sealed).map { UInt8(truncatingIfNeeded: $0 * 37) }))
    record.disabled = largest
    (record.enrolledBy, record.unlockedBy) = largest ? (.password, .passcode) : (.root, .nobody)
    record.failureService = Bytes(text: largest ? String(repeating: "s", count: 32) : "sudo")
    if largest { record.attemptID = Bytes(repeating: 0xab, count: Record.attemptIDLength) }
    let moment = Instant(boot: BootID(high: .max, low: 5), milliseconds: largest ? .max : 123_456)
    record.ledger = Ledger(failures: largest ? .max : 1, lastFailure: moment, served: largest)
    let last = largest ? UInt64.max : 0
    (record.times.enrolled, record.times.success) = (largest ? .max : 1_767_225_600, last)
    record.times.failure = largest ? .max : 7
    if largest { record.terms = Terms(change: .needed, expiry: .max, seenTime: .max, seenAt: moment) }
    return record
  }

  private static let samples = [
    Record(uid: 0, name: Bytes(text: "root"), generation: 0),
    Record(uid: 1_000, name: Bytes(text: "alice"), generation: 1),
    enrolled(), enrolled(sealed: 1), enrolled(name: "DOMAIN\\an na=é"),
    enrolled(
      name: String(repeating: "n", count: 255), generation: .max, sealed: Record.longestSealed, largest: true),
  ]

  @Test func `the longest record leaves room for later versions`() {
    let longest = codec.encode(Self.samples[Self.samples.count - 1]).prefix { $0 != 0 }
    #expect(longest.count < 1_800)
  }

  private func file(_ first: Record?, _ second: Record?) -> Bytes {
    [first, second].flatMap { $0.map(codec.encode) ?? Bytes(repeating: 0, count: RecordCodec.copyLength) }
  }

  @Test(arguments: samples)
  func `what is written is read back`(record: Record) {
    let slot = codec.encode(record)
    #expect(slot.count == RecordCodec.copyLength)
    #expect(codec.decode(slot[...]) == record)
  }

  @Test func `a copy is lines that a person can read`() {
    let lines = text(codec.encode(Self.enrolled(sealed: 2)).prefix { $0 != 0 }).split(separator: "\n")
    #expect(
      lines.dropLast() == [
        "passcode_record=2", "generation=12", "uid=1000", "name=alice", "state=enrolled", "disabled=no",
        "sealed=0025", "enrolled_by=root", "unlocked_by=nobody", "must_change=no", "expires_time=0",
        "failures=1", "failed_boot=ffffffffffffffff0000000000000005", "failed_at=123456",
        "served=no", "failure_service=sudo", "enrolled_time=1767225600", "success_time=0", "failure_time=7",
        "attempt_id=",
      ])
    #expect(lines.last?.hasPrefix("checksum=") == true)
    #expect(lines.last?.utf8.count == 9 + 64)
  }

  @Test(arguments: [UInt8(0x01), 0x80])
  func `a flipped bit is detected wherever it is`(bit: UInt8) {
    let slot = codec.encode(Self.enrolled())
    for offset in slot.indices {
      var changed = slot
      changed[offset] ^= bit
      if codec.decode(changed[...]) != nil { Issue.record("bit \(bit) at \(offset) went unnoticed") }
    }
  }

  @Test func `every other value of a byte is detected`() {
    let slot = codec.encode(Self.enrolled())
    let used = slot.prefix { $0 != 0 }.count
    // Every seventh byte of the text meets each line; then the text's end, and padding.
    for offset in Array(stride(from: 0, to: used, by: 7)) + [used - 1, used, used + 1, slot.count - 1] {
      for value in UInt8.min...UInt8.max where value != slot[offset] {
        var changed = slot
        changed[offset] = value
        if codec.decode(changed[...]) != nil { Issue.record("\(value) at \(offset) went unnoticed") }
      }
    }
  }

  @Test(arguments: Array(stride(from: 512, to: RecordCodec.copyLength, by: 512)), [0, 1])
  func `a torn write leaves the record as it was`(torn: Int, slot: Int) {
    let old = Self.enrolled(name: String(repeating: "o", count: 255), generation: 7, sealed: 256)
    let new = Self.enrolled(name: String(repeating: "n", count: 255), generation: 8, sealed: 256)
    let slots = [codec.encode(old), codec.encode(Self.enrolled(generation: 6))]
    let written = slot == 1 ? slots : slots.reversed()
    var after = written.flatMap { $0 }
    let start = slot * RecordCodec.copyLength
    after.replaceSubrange(start..<start + torn, with: codec.encode(new).prefix(torn))
    let contents = codec.read(after)
    if torn >= codec.encode(new).prefix(while: { $0 != 0 }).count {  // all its text: the rest is NUL anyway
      #expect(contents?.record == new)
    } else {
      #expect(contents == RecordCodec.Contents(record: old, nextCopy: slot, damaged: true))
    }
  }

  @Test(arguments: [0, 1])
  func `the higher generation wins and the other slot is written next`(newer: Int) {
    let (old, new) = (Self.enrolled(generation: 41), Self.enrolled(generation: 42))
    let contents = codec.read(newer == 0 ? file(new, old) : file(old, new))
    #expect(contents == RecordCodec.Contents(record: new, nextCopy: 1 - newer, damaged: false))
  }

  @Test(arguments: [0, 1])
  func `one bad slot falls back to the other, which is kept`(bad: Int) {
    let record = Self.enrolled()
    let contents = codec.read(bad == 0 ? file(nil, record) : file(record, nil))
    #expect(contents == RecordCodec.Contents(record: record, nextCopy: bad, damaged: true))
  }

  @Test func `the latest record is the one that is read`() {
    var damaged = codec.encode(Self.enrolled(generation: 99))
    damaged[200] ^= 1
    let highest = RecordCodec.highestGeneration
    let sound = [0, 1, 6, 7, 8, highest - 1, highest, highest + 1, .max].map {
      codec.encode(Self.enrolled(generation: $0))
    }
    let other = codec.encode(Self.enrolled(generation: 7, sealed: 5))
    let copies = sound + [other, damaged, Bytes(repeating: 0, count: RecordCodec.copyLength)]
    for first in copies {
      for second in copies { #expect(codec.latest(first + second) == codec.read(first + second)?.record) }
    }
    #expect(codec.latest(copies[0]) == nil)
  }

  @Test(arguments: [
    (0, 1, true), (1, 0, true), (41, 42, true), (42, 41, true), (7, 7, false), (7, 9, true), (9, 7, true),
    (12, UInt64.max, false), (UInt64.max, 0, false), (0, UInt64.max, false),
    (UInt64.max - 1, UInt64.max, false),
    (RecordCodec.highestGeneration - 1, RecordCodec.highestGeneration, true),
    (RecordCodec.highestGeneration, RecordCodec.highestGeneration + 1, false),
  ])
  func `generations differ, and leave room to count on`(first: UInt64, second: UInt64, isRead: Bool) {
    let contents = codec.read(file(Self.enrolled(generation: first), Self.enrolled(generation: second)))
    #expect((contents != nil) == isRead)
    #expect(contents == nil || contents?.record.generation == max(first, second))
  }

  @Test func `a lone copy without room to count on is damage`() {
    for generation in [RecordCodec.highestGeneration + 1, .max] {
      #expect(codec.read(file(Self.enrolled(generation: generation), nil)) == nil)
      #expect(codec.read(file(nil, Self.enrolled(generation: generation))) == nil)
    }
  }

  // MARK: Other versions

  @Test(arguments: ["uid=1000\n", "anything=else\nmore=\n", ""])
  func `a copy of a later version is told from damage`(lines: String) {
    let later = slot(Bytes(text: "passcode_record=4\n" + lines))
    let empty = Bytes(repeating: 0, count: RecordCodec.copyLength)
    for file in [later + empty, empty + later, codec.encode(Self.enrolled()) + later, later + later] {
      #expect(codec.laterVersion(file) == 4)
    }
    #expect(codec.read(later + later) == nil)
    var changed = later
    changed[20] ^= 1
    #expect(codec.laterVersion(changed + empty) == nil)
    #expect(codec.laterVersion(empty + empty) == nil)
    #expect(codec.laterVersion(Bytes(later + [0])) == nil)
  }

  @Test func `two bad slots are no record`() {
    #expect(codec.read(file(nil, nil)) == nil)
    var changed = file(Self.enrolled(), Self.enrolled(generation: 13))
    changed[5] ^= 1
    changed[RecordCodec.copyLength + 5] ^= 1
    #expect(codec.read(changed) == nil)
  }

  @Test(arguments: [0, 1, 4_095, 4_096, 8_191, 8_193])
  func `a file of another length is no record`(length: Int) {
    let whole = file(Self.enrolled(), Self.enrolled(generation: 13)) + [0]
    #expect(codec.read(Bytes(whole.prefix(length))) == nil)
  }

  @Test(arguments: [0, 1, 4_095])
  func `a slot of another length is no record`(length: Int) {
    #expect(codec.decode(codec.encode(Self.enrolled()).prefix(length)) == nil)
  }

  /// A slot whose checksum is right and whose lines are not what `encode` makes.
  private func forged(_ line: String, _ instead: String, of record: Record = enrolled()) -> Bytes {
    let lines = text(fields(record)).split(separator: "\n")
    return slot(Bytes(text: lines.map { $0 == line ? instead : $0 + "\n" }.joined()))
  }

  /// Its lines without the checksum.
  private func fields(_ record: Record) -> Bytes {
    let text = codec.encode(record).prefix { $0 != 0 }
    return Bytes(text.dropLast(Bytes(text: "checksum=").count + 65))
  }

  /// These lines, whatever they are, with their right checksum.
  private func slot(_ fields: Bytes) -> Bytes {
    padded(fields + Bytes(text: "checksum=") + hexadecimal(testChecksum(fields)) + [0x0a])
  }

  private func padded(_ text: Bytes) -> Bytes {
    text + Bytes(repeating: 0, count: RecordCodec.copyLength - text.count)
  }

  @Test func `a forged slot that changes nothing is a record`() {
    #expect(codec.decode(forged("uid=1000", "uid=1000\n")[...]) == Self.enrolled())
  }

  private static let boot = "failed_boot=ffffffffffffffff0000000000000005"

  private static let long = String(repeating: "n", count: 256)

  /// A line, and what stands in its place.
  private static let wrongLines: [(String, String)] = [
    ("passcode_record=2", "passcode_record=3\n"), ("passcode_record=2", "passcode_record=4\n"),
    ("passcode_record=2", "passcode_record=1\n"),
    ("passcode_record=2", "passcode_record=0\n"), ("passcode_record=2", ""),
    ("enrolled_by=root", "enrolled_by=nobody\n"), ("enrolled_by=root", "enrolled_by=Root\n"),
    ("unlocked_by=nobody", "unlocked_by=\n"), ("must_change=no", "must_change=0\n"),
    ("must_change=no", "must_change=Used\n"),
    ("expires_time=0", "expires_time=1\n"), ("expires_time=0", "expires_time=0\nseen_time=1\n"),
    ("failure_service=sudo", "failure_service=su do\n"),
    ("failure_service=sudo", "failure_service=\(long.prefix(33))\n"),
    ("attempt_id=", "attempt_id=00\n"),
    ("attempt_id=", "attempt_id=abababababababababababababababababab\n"),
    ("generation=12", "generation=012\n"),
    ("generation=12", "generation=18446744073709551616\n"), ("generation=12", "generation=-1\n"),
    ("uid=1000", "uid=4294967296\n"), ("uid=1000", "uid=1000\nuid=1000\n"), ("uid=1000", "uid=1000 \n"),
    ("name=alice", "name=\n"), ("name=alice", "name=a\u{1}b\n"), ("name=alice", "name=a\u{0}b\n"),
    ("name=alice", "name=\(long)\n"),
    ("state=enrolled", "state=removed\n"),
    ("state=enrolled", "state=\n"), ("state=enrolled", "state=Enrolled\n"),
    ("disabled=no", "disabled=maybe\n"), ("disabled=no", "disabled=paused\n"),
    ("disabled=no", "disabled=both\n"),
    ("failures=1", "failures=4294967296\n"), ("failures=1", "failures=\n"), ("failed_at=123456", ""),
    ("served=no", "served=no\r\n"), ("success_time=0", "success_time=00\n"),
    ("failure_time=7", "failure_time=7\nmore=1\n"), ("uid=1000", "name=alice\nuid=1000\n"),
    ("sealed=0025", "sealed=002\n"), ("sealed=0025", "sealed=002A\n"), ("sealed=0025", "sealed=\n"),
    (boot, "failed_boot=fffffffffffffffF0000000000000005\n"),
    (boot, "failed_boot=ffffffffffffffff000000000000000\n"),
    (boot, "failed_boot=ffffffffffffffff000000000000000500\n"),
  ]

  @Test(arguments: wrongLines)
  func `a right checksum doesn't excuse a wrong line`(line: String, instead: String) {
    #expect(codec.decode(forged(line, instead, of: Self.enrolled(sealed: 2))[...]) == nil)
  }

  @Test func `terms are five lines, and each is spelled in one way`() {
    var record = Self.enrolled(sealed: 2)
    let moment = Instant(boot: BootID(high: 1, low: 2), milliseconds: 5)
    record.terms = Terms(change: .needed, expiry: 90, seenTime: 80, seenAt: moment)
    let lines = [
      "must_change=used", "expires_time=90", "seen_time=80", "seen_boot=00000000000000010000000000000002",
      "seen_at=5",
    ]
    #expect(text(fields(record)).contains("\n" + lines.joined(separator: "\n") + "\nfailures=1\n"))
    for line in lines {
      #expect(codec.decode(forged(line, line + "\n", of: record)[...]) == record)
      for instead in ["", line + "0\n", line + " \n", line.uppercased() + "\n", line + "\n" + line + "\n"] {
        let found = codec.decode(forged(line, instead, of: record)[...])
        #expect(found == nil || found?.terms != record.terms && fields(found ?? record) != fields(record))
      }
    }
    for change in Terms.Change.allCases {
      record.terms = Terms(change: change, expiry: 0, seenTime: 0, seenAt: .never)
      #expect(codec.decode(codec.encode(record)[...]) == record)
    }
  }

  /// To a program that knows no pause, version 3 is a later one: it refuses the record.
  @Test func `a paused record has a version of its own, and no other has that`() {
    for (disabled, word) in [(false, "paused"), (true, "both")] {
      var record = Self.enrolled(sealed: 2)
      record.disabled = disabled
      record.paused = true
      let copy = codec.encode(record)
      #expect(codec.decode(copy[...]) == record)
      #expect(
        text(copy).hasPrefix("passcode_record=3\ngeneration=12\n")
          && text(copy).contains("\ndisabled=\(word)\n"))
      for (line, instead) in [
        ("passcode_record=3", "passcode_record=2\n"), ("disabled=\(word)", "disabled=no\n"),
        ("disabled=\(word)", "disabled=yes\n"), ("disabled=\(word)", "disabled=Both\n"),
      ] { #expect(codec.decode(forged(line, instead, of: record)[...]) == nil) }
    }
  }

  @Test(arguments: [
    ("state=removed", "state=\n"), ("state=removed", "state=Removed\n"),
    ("state=removed", "state=removed \n"),
    ("state=removed", "state=enrolled\n"), ("sealed=", "sealed=00\n"),
  ])
  func `a removed record is spelled in one way`(line: String, instead: String) {
    let removed = Record(uid: 1_000, name: Bytes(text: "alice"), generation: 1)
    #expect(codec.decode(forged(line, line + "\n", of: removed)[...]) == removed)
    #expect(codec.decode(forged(line, instead, of: removed)[...]) == nil)
  }

  @Test(arguments: [enrolled(sealed: 20), Record(uid: 0, name: [0x72], generation: 9)])
  func `what is read is what would be written`(record: Record) {
    let text = fields(record)
    let others = Bytes(text: "019afAFnoysx=+- \n\r\t\u{1}\u{7f}") + [0, 0x80, 0xff]
    var changed: [Bytes] = []
    for place in 0...text.count {
      let (before, after) = (Bytes(text[..<place]), Bytes(text[place...]))
      changed.append(before + after.dropFirst())
      for byte in others { changed += [before + [byte] + after, before + [byte] + after.dropFirst()] }
    }
    var read = 0
    for fields in changed {
      let slot = slot(fields)
      guard let record = codec.decode(slot[...]) else { continue }
      read += 1
      if codec.encode(record) != slot { Issue.record("read, and not what is written: \(fields)") }
    }
    #expect(read > 100)
  }

  @Test func `the checksum's line has one spelling, and NULs follow`() {
    let whole = Bytes(codec.encode(Self.enrolled()).prefix { $0 != 0 })
    let line = Bytes(whole.suffix(74))
    let open = Bytes(whole.dropLast())
    let upper = line.map { (0x61...0x66).contains($0) ? $0 - 0x20 : $0 }
    let others: [Bytes] = [
      fields(Self.enrolled()) + Bytes(text: "checksum=") + upper.dropFirst(9), open, open + [0x0d, 0x0a],
      open.dropLast() + [0x0a], whole + line, whole + [0x0a], whole + [1], whole + [0, 1],
    ]
    #expect(codec.decode(padded(whole)[...]) == Self.enrolled())
    for other in others { #expect(codec.decode(padded(other)[...]) == nil) }
    let space = RecordCodec.copyLength - whole.count
    for rest in [[UInt8](repeating: 0xff, count: space), Bytes(repeating: 0, count: space - 1) + [1]] {
      #expect(codec.decode((whole + rest)[...]) == nil)
    }
  }

  @Test func `a slot is read wherever it lies`() {
    let slot = codec.encode(Self.enrolled())
    #expect(codec.decode((slot + slot)[RecordCodec.copyLength...]) == Self.enrolled())
  }

  @Test(arguments: [0, Record.longestSealed + 1])
  func `a credential of no bytes or too many is no record`(sealed: Int) {
    #expect(codec.decode(codec.encode(Self.enrolled(sealed: sealed))[...]) == nil)
  }

  @Test(arguments: [
    ("", false), ("a", true), ("a b", true), ("é", true), ("a\nb", false), ("a\u{0}", false),
    ("\u{7f}", false),
  ])
  func `a name is kept if it has no control characters`(name: String, kept: Bool) {
    #expect(Record.canKeep(name: Bytes(text: name)) == kept)
  }

  @Test(arguments: [(255, true), (256, false)])
  func `a name is kept up to 255 bytes`(length: Int, kept: Bool) {
    #expect(Record.canKeep(name: Bytes(repeating: 0x61, count: length)) == kept)
  }
}
