// The lines of a record, written and read in the order that RecordCodec.swift draws.

extension Record {
  /// The oldest version of the format that can hold the record.
  var version: UInt64 { paused ? 3 : 2 }
}

extension Bytes {
  /// All lines but the checksum's.
  mutating func append(_ record: Record) {
    append(line: .version, record.version)
    append(line: .generation, record.generation)
    append(line: .uid, UInt64(record.uid))
    append(line: .name, record.name)
    appendState(record)
    append(record.ledger)
    append(line: .failureService, record.failureService)
    append(line: .enrolledTime, record.times.enrolled)
    append(line: .successTime, record.times.success)
    append(line: .failureTime, record.times.failure)
    append(line: .attemptID, hexadecimal(record.attemptID))
  }

  private mutating func appendState(_ record: Record) {
    var sealed: Bytes?
    if case .enrolled(let credential) = record.state { sealed = hexadecimal(credential) }
    append(line: .state, Bytes(text: sealed == nil ? "removed" : "enrolled"))
    append(line: .disabled, word((record.disabled ? 1 : 0) + (record.paused ? 2 : 0), of: hindrances))
    append(line: .sealed, sealed ?? [])
    append(line: .enrolledBy, record.enrolledBy.name)
    append(line: .unlockedBy, record.unlockedBy.name)
    append(record.terms)
  }

  private mutating func append(_ terms: Terms) {
    append(line: .mustChange, word(terms.change.rawValue, of: changes))
    append(line: .expiresTime, terms.expiry)
    guard terms.expiry > 0 else { return }
    append(line: .seenTime, terms.seenTime)
    append(line: .seenBoot, terms.seenAt.boot.hexadecimalText)
    append(line: .seenAt, terms.seenAt.milliseconds)
  }

  private mutating func append(_ ledger: Ledger) {
    append(line: .failures, UInt64(ledger.failures))
    append(line: .failedBoot, ledger.lastFailure.boot.hexadecimalText)
    append(line: .failedAt, ledger.lastFailure.milliseconds)
    append(line: .served, yesNo(ledger.served))
  }

  @inline(never)
  mutating func append(line: RecordLine, _ value: Bytes) {
    self += word(line.rawValue, of: lines)
    append(byte: UInt8(ascii: "="))
    append(contentsOf: value)
    append(byte: UInt8(ascii: "\n"))
  }

  @inline(never)
  private mutating func append(line: RecordLine, _ value: UInt64) {
    append(line: line, decimalDigits(value))
  }
}

@inline(never)
private func yesNo(_ flag: Bool) -> Bytes {
  word(flag ? 1 : 0, of: "no yes")
}

/// The words of a record for what keeps its passcode from being used: number 1 disabled, 2 paused, 3 both.
private var hindrances: Literal { "no yes paused both" }

/// The words of a record for `Terms.Change`, in the order of its cases.
private var changes: Literal { "no yes used" }

/// The names of all lines, in the order of `RecordLine`.
private var lines: Literal {
  """
  passcode_record generation uid name state disabled sealed enrolled_by unlocked_by must_change expires_time \
  seen_time seen_boot seen_at failures failed_boot failed_at served failure_service enrolled_time success_time \
  failure_time attempt_id checksum
  """
}

/// A line of a record. What is known by its number is spelled out once: see `word`.
enum RecordLine: Int {
  case version, generation, uid, name, state, disabled, sealed, enrolledBy, unlockedBy, mustChange,
    expiresTime
  case seenTime, seenBoot, seenAt, failures, failedBoot, failedAt, served, failureService, enrolledTime,
    successTime
  case failureTime, attemptID, checksum
}

/// Reads the lines of a copy in their order.
struct RecordReader {
  private let copy: ArraySlice<UInt8>
  /// The index at which the next line starts.
  private var position: Int
  /// The number of the name that was read last, and where it starts in `lines`.
  private var known = 0
  private var start = 0

  init(_ copy: ArraySlice<UInt8>) {
    self.copy = copy
    position = copy.startIndex
  }

  /// The bytes of the copy up to the next line.
  var before: ArraySlice<UInt8> { copy[..<position] }
  /// The bytes of the copy from the next line on.
  var after: ArraySlice<UInt8> { copy[position...] }

  /// The value of the next line, if that line has this name.
  @inline(never)
  mutating func value(_ line: RecordLine) -> ArraySlice<UInt8>? {
    guard let value = place(line) else { return nil }
    position = value.upperBound + 1
    return copy[value]
  }

  @inline(never)
  private mutating func place(_ line: RecordLine) -> Range<Int>? {
    seek(line)
    let names = lines
    var end = position
    var index = start
    while index < names.count, names[index] != UInt8(ascii: " ") {
      guard end < copy.endIndex, copy[end] == names[index] else { return nil }
      (end, index) = (end + 1, index + 1)
    }
    let start = end + 1
    guard end < copy.endIndex, copy[end] == UInt8(ascii: "=") else { return nil }
    while copy[end] != UInt8(ascii: "\n") {
      end += 1
      guard end < copy.endIndex else { return nil }
    }
    return start..<end
  }

  /// Finds the name of a line: from the last one on, since they are read in their order. A long list reads millions.
  @inline(never)
  private mutating func seek(_ line: RecordLine) {
    let names = lines
    if line.rawValue < known { (known, start) = (0, 0) }
    while known < line.rawValue, start < names.count {
      if names[start] == UInt8(ascii: " ") { known += 1 }
      start += 1
    }
  }

  /// Passes over lines until one of that name is next; false: there is none.
  mutating func skip(to line: RecordLine) -> Bool {
    while place(line) == nil {
      guard let end = after.firstIndex(of: UInt8(ascii: "\n")) else { return false }
      position = end + 1
    }
    return true
  }

  @inline(never)
  mutating func number(_ line: RecordLine) -> UInt64? {
    guard let digits = value(line) else { return nil }
    return decimal(digits)
  }

  @inline(never)
  private mutating func flag(_ line: RecordLine) -> Bool? {
    guard let word = value(line), let index = PasscodePolicy.number(of: word, among: "no yes") else {
      return nil
    }
    return index == 1
  }

  @inline(never)
  private mutating func proof(_ line: RecordLine) -> Record.Proof? {
    guard let word = value(line) else { return nil }
    return Record.Proof(named: word)
  }

  /// What follows the version's line, up to the checksum's.
  mutating func record() -> Record? {
    guard let generation = number(.generation), let uid = number(.uid), uid <= UInt64(UInt32.max),
      let name = value(.name)
    else { return nil }
    var record = Record.Fields(generation: generation, uid: UInt32(uid), name: Bytes(name))
    guard readState(&record), readProofs(&record), readTerms(&record.terms), readLedger(&record.ledger),
      readService(&record), readTimes(&record.times), readAttempt(&record)
    else { return nil }
    return Record(record)
  }

  @inline(never)
  private mutating func readState(_ record: inout Record.Fields) -> Bool {
    guard let state = value(.state), let word = value(.disabled),
      let hindrance = PasscodePolicy.number(of: word, among: hindrances), let sealed = value(.sealed)
    else { return false }
    record.disabled = hindrance & 1 != 0
    record.paused = hindrance & 2 != 0
    guard state.spells("enrolled") else { return state.spells("removed") && sealed.isEmpty }
    guard let credential = bytes(hexadecimal: sealed) else { return false }
    record.state = .enrolled(sealed: credential)
    return true
  }

  @inline(never)
  private mutating func readProofs(_ record: inout Record.Fields) -> Bool {
    guard let enrolled = proof(.enrolledBy), enrolled != .nobody, let unlocked = proof(.unlockedBy)
    else { return false }
    (record.enrolledBy, record.unlockedBy) = (enrolled, unlocked)
    return true
  }

  @inline(never)
  private mutating func readTerms(_ terms: inout Terms) -> Bool {
    guard let word = value(.mustChange),
      let change = PasscodePolicy.number(of: word, among: changes).flatMap({ Terms.Change(rawValue: $0) }),
      let expiry = number(.expiresTime)
    else { return false }
    terms = Terms(change: change, expiry: expiry, seenTime: 0, seenAt: .never)
    guard expiry > 0 else { return true }
    guard let time = number(.seenTime), let moment = instant(.seenBoot, .seenAt) else { return false }
    terms = Terms(change: change, expiry: expiry, seenTime: time, seenAt: moment)
    return true
  }

  @inline(never)
  private mutating func instant(_ boot: RecordLine, _ milliseconds: RecordLine) -> Instant? {
    guard let text = value(boot), let boot = BootID(hexadecimal: text),
      let milliseconds = number(milliseconds)
    else { return nil }
    return Instant(boot: boot, milliseconds: milliseconds)
  }

  @inline(never)
  private mutating func readLedger(_ ledger: inout Ledger) -> Bool {
    guard let failures = number(.failures), failures <= UInt64(UInt32.max),
      let lastFailure = instant(.failedBoot, .failedAt), let served = flag(.served)
    else { return false }
    ledger = Ledger(failures: UInt32(failures), lastFailure: lastFailure, served: served)
    return true
  }

  @inline(never)
  private mutating func readService(_ record: inout Record.Fields) -> Bool {
    guard let service = value(.failureService).map({ Bytes($0) }), Record.serviceName(service) == service
    else {
      return false
    }
    record.failureService = service
    return true
  }

  @inline(never)
  private mutating func readTimes(_ times: inout Record.Times) -> Bool {
    guard let enrolled = number(.enrolledTime), let success = number(.successTime),
      let failure = number(.failureTime)
    else { return false }
    (times.enrolled, times.success, times.failure) = (enrolled, success, failure)
    return true
  }

  @inline(never)
  private mutating func readAttempt(_ record: inout Record.Fields) -> Bool {
    guard let digits = value(.attemptID), digits.isEmpty || digits.count == 2 * Record.attemptIDLength,
      let id = bytes(hexadecimal: digits)
    else { return false }
    record.attemptID = id
    return true
  }
}
