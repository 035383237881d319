extension RecordLines {
  /// All lines but the checksum's, as RecordCodec.swift draws them: one list, by which they are written and read.
  mutating func pass(_ record: inout Record.Fields) {
    // The oldest version that can hold the record.
    var version: UInt64 = record.paused ? 3 : 2
    number("passcode_record", &version)
    number("generation", &record.generation)
    number("uid", &record.uid)
    bytes("name", &record.name)
    require(Record.canKeep(name: record.name))
    passState(&record)
    proof("enrolled_by", &record.enrolledBy)
    require(record.enrolledBy != .nobody)
    proof("unlocked_by", &record.unlockedBy)
    pass(&record.terms)
    pass(&record.ledger)
    bytes("failure_service", &record.failureService)
    require(Record.serviceName(record.failureService) == record.failureService)
    number("enrolled_time", &record.times.enrolled)
    number("success_time", &record.times.success)
    number("failure_time", &record.times.failure)
    hexadecimal("attempt_id", &record.attemptID)
    require(record.attemptID.isEmpty || record.attemptID.count == Record.attemptIDLength)
    require(version == (record.paused ? 3 : 2))
  }

  private mutating func passState(_ record: inout Record.Fields) {
    var (isEnrolled, sealed) = (0, Bytes())
    if case .enrolled(let credential) = record.state { (isEnrolled, sealed) = (1, credential) }
    word("state", &isEnrolled, of: "removed enrolled")
    var hindrance = (record.disabled ? 1 : 0) + (record.paused ? 2 : 0)
    word("disabled", &hindrance, of: "no yes paused both")
    (record.disabled, record.paused) = (hindrance & 1 != 0, hindrance & 2 != 0)
    hexadecimal("sealed", &sealed)
    require(isEnrolled == 1 ? (1...Record.longestSealed).contains(sealed.count) : sealed.isEmpty)
    record.state = isEnrolled == 1 ? .enrolled(sealed: sealed) : .removed
  }

  private mutating func pass(_ terms: inout Terms) {
    var (change, index) = (terms.change, terms.change.rawValue)
    var (expiry, seenTime, seenAt) = (terms.expiry, terms.seenTime, terms.seenAt)
    word("must_change", &index, of: "no yes used")
    keep(Terms.Change(rawValue: index), in: &change)
    number("expires_time", &expiry)
    if expiry > 0 {
      number("seen_time", &seenTime)
      instant("seen_boot", "seen_at", &seenAt)
    }
    terms = Terms(change: change, expiry: expiry, seenTime: seenTime, seenAt: seenAt)
  }

  private mutating func pass(_ ledger: inout Ledger) {
    number("failures", &ledger.failures)
    instant("failed_boot", "failed_at", &ledger.lastFailure)
    var served = ledger.served ? 1 : 0
    word("served", &served, of: "no yes")
    ledger.served = served == 1
  }
}

/// Lines of `name=value`, one after the other: written, or read from a copy. What is read is kept where it was written from.
struct RecordLines {
  /// The copy so far, where the record is written: its lines, without padding.
  private(set) var text = Bytes()
  /// Whether each line that was read was there, and had a form that is written.
  private(set) var areSound = true
  private let isWriting: Bool
  /// What is read, and the index at which the next line starts.
  private let copy: ArraySlice<UInt8>
  private var position: Int

  /// Begins to write a record's lines.
  init() {
    (isWriting, copy, position) = (true, [], 0)
    text = Bytes(room: RecordCodec.copyLength)
  }

  /// Begins to read the lines of a copy.
  init(_ copy: ArraySlice<UInt8>) {
    (isWriting, self.copy, position) = (false, copy, copy.startIndex)
  }

  /// The bytes of the copy up to the next line.
  var before: ArraySlice<UInt8> { copy[..<position] }
  /// The bytes of the copy from the next line on.
  var after: ArraySlice<UInt8> { copy[position...] }

  /// Writes a line; or reads the value of the next one, which must have that name.
  ///
  /// - Returns: nil where nothing was read.
  @inline(never)
  mutating func value(_ name: Literal, _ written: @autoclosure () -> Bytes = []) -> ArraySlice<UInt8>? {
    if isWriting {
      text.append(text: name)
      text.append(byte: UInt8(ascii: "="))
      text += written()
      text.append(byte: UInt8(ascii: "\n"))
      return nil
    }
    guard areSound, isNext(name), let end = lineEnd() else {
      areSound = false
      return nil
    }
    let start = position + name.count + 1
    position = end + 1
    return copy[start..<end]
  }

  private func isNext(_ name: Literal) -> Bool {
    guard copy.endIndex - position > name.count else { return false }
    for index in name.indices where copy[position + index] != name[index] { return false }
    return copy[position + name.count] == UInt8(ascii: "=")
  }

  /// The index of the next line's end. This and `isNext` go by index: with slices, a list spent more time here than in the
  /// kernel.
  private func lineEnd() -> Int? {
    for index in position..<copy.endIndex where copy[index] == UInt8(ascii: "\n") { return index }
    return nil
  }

  /// Passes over lines until one of that name is next; false: there is none.
  mutating func skip(to name: Literal) -> Bool {
    while !isNext(name) {
      guard let end = lineEnd() else { return false }
      position = end + 1
    }
    return true
  }

  /// What was read is sound only if this holds. What is written isn't checked: it was read, or made here.
  mutating func require(_ condition: Bool) {
    areSound = areSound && condition
  }

  /// Keeps what a line was read as; nil: not what is written there.
  private mutating func keep<Value>(_ read: Value?, in value: inout Value) {
    if let read { value = read } else { areSound = false }
  }

  @inline(never)
  mutating func bytes(_ name: Literal, _ bytes: inout Bytes) {
    if let read = value(name, bytes) { bytes = Bytes(read) }
  }

  @inline(never)
  mutating func hexadecimal(_ name: Literal, _ bytes: inout Bytes) {
    guard let digits = value(name, PasscodeBytes.hexadecimal(bytes)) else { return }
    keep(PasscodeBytes.bytes(hexadecimal: digits), in: &bytes)
  }

  @inline(never)
  mutating func number(_ name: Literal, _ number: inout UInt64) {
    guard let digits = value(name, decimalDigits(number)) else { return }
    keep(decimal(digits), in: &number)
  }

  @inline(never)
  mutating func number(_ name: Literal, _ number: inout UInt32) {
    var wide = UInt64(number)
    self.number(name, &wide)
    require(wide <= UInt64(UInt32.max))
    number = UInt32(truncatingIfNeeded: wide)
  }

  /// A word of a list, known by its index.
  @inline(never)
  mutating func word(_ name: Literal, _ index: inout Int, of words: Literal) {
    guard let read = value(name, PasscodeBytes.word(index, of: words)) else { return }
    keep(PasscodeBytes.number(of: read, among: words), in: &index)
  }

  @inline(never)
  mutating func proof(_ name: Literal, _ proof: inout Record.Proof) {
    var index = proof.rawValue
    word(name, &index, of: "unknown nobody root password passcode")
    keep(Record.Proof(rawValue: index), in: &proof)
  }

  @inline(never)
  mutating func instant(_ bootName: Literal, _ timeName: Literal, _ instant: inout Instant) {
    var (boot, milliseconds) = (instant.boot, instant.milliseconds)
    if let digits = value(bootName, boot.hexadecimalText) { keep(BootID(hexadecimal: digits), in: &boot) }
    number(timeName, &milliseconds)
    instant = Instant(boot: boot, milliseconds: milliseconds)
  }
}
