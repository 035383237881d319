// The lines of a record, written and read in the order that RecordCodec.swift draws.

extension Bytes {
  /// All lines but the checksum's.
  mutating func append(_ record: Record) {
    append(line: "passcode_record", RecordCodec.version)
    append(line: "generation", record.generation)
    append(line: "uid", UInt64(record.uid))
    append(line: "name", record.name)
    appendState(record)
    append(record.ledger)
    append(line: "failure_service", record.failureService)
    append(line: "enrolled_time", record.times.enrolled)
    append(line: "success_time", record.times.success)
    append(line: "failure_time", record.times.failure)
    append(line: "attempt_id", hexadecimal(record.attemptID))
  }

  private mutating func appendState(_ record: Record) {
    var sealed: Bytes?
    if case .enrolled(let credential) = record.state { sealed = hexadecimal(credential) }
    append(line: "state", Bytes(text: sealed == nil ? "removed" : "enrolled"))
    append(line: "disabled", yesNo(record.disabled))
    append(line: "sealed", sealed ?? [])
    append(line: "enrolled_by", Bytes(text: record.enrolledBy.name))
    append(line: "unlocked_by", Bytes(text: record.unlockedBy.name))
    append(record.terms)
  }

  private mutating func append(_ terms: Terms) {
    append(line: "must_change", Bytes(text: terms.change.name))
    append(line: "expires_time", terms.expiry)
    guard terms.expiry > 0 else { return }
    append(line: "seen_time", terms.seenTime)
    append(line: "seen_boot", terms.seenAt.boot.hexadecimalText)
    append(line: "seen_at", terms.seenAt.milliseconds)
  }

  private mutating func append(_ ledger: Ledger) {
    append(line: "failures", UInt64(ledger.failures))
    append(line: "failed_boot", ledger.lastFailure.boot.hexadecimalText)
    append(line: "failed_at", ledger.lastFailure.milliseconds)
    append(line: "served", yesNo(ledger.served))
  }

  @inline(never)
  mutating func append(line name: String, _ value: Bytes) {
    append(text: name)
    append(byte: UInt8(ascii: "="))
    append(contentsOf: value)
    append(byte: UInt8(ascii: "\n"))
  }

  @inline(never)
  private mutating func append(line name: String, _ value: UInt64) {
    append(line: name, decimalDigits(value))
  }
}

@inline(never)
private func yesNo(_ flag: Bool) -> Bytes {
  Bytes(text: flag ? "yes" : "no")
}

extension Terms.Change {
  fileprivate var name: String {
    switch self {
    case .notNeeded: "no"
    case .afterLogin: "yes"
    case .needed: "used"
    }
  }
}

/// Reads the lines of a copy in their order.
struct RecordReader {
  private let copy: ArraySlice<UInt8>
  /// Where the next line starts.
  private var position: Int

  init(_ copy: ArraySlice<UInt8>) {
    self.copy = copy
    position = copy.startIndex
  }

  /// The lines that were read.
  var before: ArraySlice<UInt8> { copy[..<position] }
  /// What comes after them.
  var after: ArraySlice<UInt8> { copy[position...] }

  /// The value of the next line, if that line has this name.
  @inline(never)
  mutating func value(_ name: String) -> ArraySlice<UInt8>? {
    guard let value = place(name) else { return nil }
    position = value.upperBound + 1
    return copy[value]
  }

  private func place(_ name: String) -> Range<Int>? {
    let text = name.utf8.span
    var end = position
    for index in text.indices {
      guard end < copy.endIndex, copy[end] == text[index] else { return nil }
      end += 1
    }
    let start = end + 1
    guard end < copy.endIndex, copy[end] == UInt8(ascii: "=") else { return nil }
    while copy[end] != UInt8(ascii: "\n") {
      end += 1
      guard end < copy.endIndex else { return nil }
    }
    return start..<end
  }

  /// Passes over lines until one of that name is next; false: there is none.
  mutating func skip(to name: String) -> Bool {
    while place(name) == nil {
      guard let end = after.firstIndex(of: UInt8(ascii: "\n")) else { return false }
      position = end + 1
    }
    return true
  }

  @inline(never)
  mutating func number(_ name: String) -> UInt64? {
    guard let digits = value(name) else { return nil }
    return decimal(digits)
  }

  @inline(never)
  private mutating func flag(_ name: String) -> Bool? {
    guard let word = value(name) else { return nil }
    if word.spells("yes") { return true }
    return word.spells("no") ? false : nil
  }

  @inline(never)
  private mutating func proof(_ name: String) -> Record.Proof? {
    guard let word = value(name) else { return nil }
    return Record.Proof.allCases.first { word.spells($0.name) }
  }

  /// What follows the version's line, up to the checksum's.
  mutating func record(_ version: UInt64) -> Record? {
    guard let generation = number("generation"), let uid = number("uid"), uid <= UInt64(UInt32.max),
      let name = value("name")
    else { return nil }
    var record = Record.Fields(generation: generation, uid: UInt32(uid), name: Bytes(name))
    guard readState(&record, version), version == 1 || readProofs(&record) && readTerms(&record.terms),
      readLedger(&record.ledger),
      version == 1 || readService(&record), readTimes(&record.times), version == 1 || readAttempt(&record)
    else { return nil }
    if version == 1 { (record.enrolledBy, record.unlockedBy) = (.unknown, .unknown) }
    return Record(record)
  }

  private mutating func readState(_ record: inout Record.Fields, _ version: UInt64) -> Bool {
    guard let state = value("state"), let disabled = flag(version == 1 ? "suspended" : "disabled"),
      let sealed = value("sealed")
    else { return false }
    record.disabled = disabled
    guard state.spells("enrolled") else { return state.spells("removed") && sealed.isEmpty }
    guard let credential = bytes(hexadecimal: sealed) else { return false }
    record.state = .enrolled(sealed: credential)
    return true
  }

  private mutating func readProofs(_ record: inout Record.Fields) -> Bool {
    guard let enrolled = proof("enrolled_by"), enrolled != .nobody, let unlocked = proof("unlocked_by")
    else { return false }
    (record.enrolledBy, record.unlockedBy) = (enrolled, unlocked)
    return true
  }

  private mutating func readTerms(_ terms: inout Terms) -> Bool {
    guard let word = value("must_change"),
      let change = Terms.Change.allCases.first(where: { word.spells($0.name) }),
      let expiry = number("expires_time")
    else { return false }
    terms = Terms(change, expiry: expiry, seenTime: 0, seenAt: .never)
    guard expiry > 0 else { return true }
    guard let time = number("seen_time"), let moment = instant("seen_boot", "seen_at") else { return false }
    terms = Terms(change, expiry: expiry, seenTime: time, seenAt: moment)
    return true
  }

  @inline(never)
  private mutating func instant(_ boot: String, _ milliseconds: String) -> Instant? {
    guard let text = value(boot), let boot = BootID(hexadecimal: text),
      let milliseconds = number(milliseconds)
    else { return nil }
    return Instant(boot: boot, milliseconds: milliseconds)
  }

  private mutating func readLedger(_ ledger: inout Ledger) -> Bool {
    guard let failures = number("failures"), failures <= UInt64(UInt32.max),
      let lastFailure = instant("failed_boot", "failed_at"), let served = flag("served")
    else { return false }
    ledger = Ledger(failures: UInt32(failures), lastFailure: lastFailure, served: served)
    return true
  }

  private mutating func readService(_ record: inout Record.Fields) -> Bool {
    guard let service = value("failure_service").map({ Bytes($0) }), Record.serviceName(service) == service
    else {
      return false
    }
    record.failureService = service
    return true
  }

  private mutating func readTimes(_ times: inout Record.Times) -> Bool {
    guard let enrolled = number("enrolled_time"), let success = number("success_time"),
      let failure = number("failure_time")
    else { return false }
    (times.enrolled, times.success, times.failure) = (enrolled, success, failure)
    return true
  }

  private mutating func readAttempt(_ record: inout Record.Fields) -> Bool {
    guard let digits = value("attempt_id"), digits.isEmpty || digits.count == 2 * Record.attemptIDLength,
      let id = bytes(hexadecimal: digits)
    else { return false }
    record.attemptID = id
    return true
  }
}
