// Any bytes as a copy: what decodes encodes to the same bytes. Any values as a record: what is encoded
// decodes to the same record. The checksum is a constant, so that the fuzzer gets past it (that it detects
// every changed byte is RecordCodecTests' part).

@testable import PasscodePolicy

private let codec = RecordCodec(
  checksum: { _ in Bytes(repeating: 0, count: RecordCodec.checksumLength) },
  isZero: { $0.allSatisfy { $0 == 0 } })

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecord(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  let padding = max(0, RecordCodec.copyLength - size)
  let copy = Bytes(input.prefix(RecordCodec.copyLength)) + Bytes(repeating: 0, count: padding)
  if let record = codec.decode(copy[...]) {
    let isOld = copy.starts(with: Bytes(text: "passcode_record=1\n"))
    precondition(isOld || codec.encode(record) == copy, "decoded, and not what is encoded")
    precondition(codec.decode(codec.encode(record)[...]) == record)
  }

  let record = anyRecord(input)
  let encoded = codec.encode(record)
  precondition(codec.decode(encoded[...]) == record, "encoded, and not what is decoded")
  for file in [copy + encoded, encoded + copy] {
    precondition(codec.latest(file) == codec.read(file)?.record, "the latest is another one")
  }
  return 0
}

/// A record made of the input's bytes, eight at a time.
private func anyRecord(_ input: Bytes) -> Record {
  func number(_ index: Int) -> UInt64 {
    input.dropFirst(index * 8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
  let name = Bytes(input.filter { Record.canKeep(name: [$0]) }.prefix(255))
  var record = Record(
    uid: UInt32(truncatingIfNeeded: number(0)), name: name.isEmpty ? [0x61] : name, generation: number(1))
  if !input.isEmpty { record.state = .enrolled(sealed: Bytes(input.prefix(Record.longestSealed))) }
  record.disabled = number(2) & 1 == 1
  let moment = Instant(boot: BootID(high: number(3), low: number(4)), milliseconds: number(5))
  record.terms = Terms(
    Terms.Change.allCases[Int(number(2) >> 8 & 0xff) % 3], expiry: number(10),
    seenTime: number(10) == 0 ? 0 : number(11),
    seenAt: number(10) == 0 ? .never : Instant(boot: moment.boot, milliseconds: number(12)))
  record.enrolledBy = [.unknown, .root, .password, .passcode][Int(number(2) >> 4 & 3)]
  record.unlockedBy = [.unknown, .root, .password, .nobody][Int(number(2) >> 6 & 3)]
  record.failureService = Record.serviceName(input)
  record.attemptID = Bytes(input.prefix(Record.attemptIDLength))
  if record.attemptID.count < Record.attemptIDLength { record.attemptID = [] }
  record.ledger = Ledger(
    failures: UInt32(truncatingIfNeeded: number(6)), lastFailure: moment, served: number(2) & 2 == 2)
  (record.times.enrolled, record.times.success) = (number(7), number(8))
  record.times.failure = number(9)
  return record
}
