// Any bytes as a slot: what decodes encodes to the same bytes. Any values as a record: what is encoded
// decodes to the same record. The checksum is a constant, so that the fuzzer gets past it (that it detects
// every changed byte is RecordCodecTests' part).

private let codec = RecordCodec(
  checksum: { _ in Bytes(repeating: 0, count: RecordCodec.checksumLength) },
  isZero: { $0.allSatisfy { $0 == 0 } })

@c(LLVMFuzzerTestOneInput)
public func fuzzRecord(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  let padding = max(0, RecordCodec.slotLength - size)
  let slot = Bytes(input.prefix(RecordCodec.slotLength)) + Bytes(repeating: 0, count: padding)
  if let record = codec.decode(slot[...]) {
    precondition(codec.encode(record) == slot, "decoded, and not what is encoded")
    precondition(codec.read(slot + slot)?.record == record)
  }

  let record = anyRecord(input)
  let encoded = codec.encode(record)
  precondition(codec.decode(encoded[...]) == record, "encoded, and not what is decoded")
  for file in [slot + encoded, encoded + slot] {
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
  record.suspended = number(2) & 1 == 1
  let moment = Instant(boot: BootID(high: number(3), low: number(4)), milliseconds: number(5))
  record.ledger = Ledger(
    failures: UInt32(truncatingIfNeeded: number(6)), lastFailure: moment, served: number(2) & 2 == 2)
  record.times = Record.Times(enrolled: number(7), success: number(8), failure: number(9))
  return record
}
