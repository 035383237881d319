// Any bytes as a copy: what decodes encodes to the same bytes. Any values as a record: what is encoded
// decodes to the same record. The checksum is a constant, so that the fuzzer gets past it (that it detects
// every changed byte is RecordCodecTests' part). Files of two copies are the expensive part: with --runs, one input in
// sixteen, as its bytes decide (`fuzz_is_judged`).

import CFuzz
@testable import PasscodePolicy

private let noChecksum = Bytes(repeating: 0, count: 32)
private let codec = RecordCodec(
  checksum: { _ in noChecksum },
  isZero: { $0.withUnsafeBufferPointer { fuzz_is_zero($0.baseAddress, $0.count) != 0 } })

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecord(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = UnsafeBufferPointer(start: data, count: size)
  let copy = padded(input)
  if let record = codec.decode(copy[...]) {
    precondition(isSame(codec.encode(record), copy), "decoded, and not what is encoded")
    precondition(codec.decode(codec.encode(record)[...]) == record)
  }

  let record = anyRecord(input)
  let encoded = codec.encode(record)
  precondition(codec.decode(encoded[...]) == record, "encoded, and not what is decoded")
  guard fuzz_is_judged(data, size, 16) != 0 else { return 0 }
  for file in [copy + encoded, encoded + copy] {
    precondition(codec.latest(file) == codec.read(file)?.record, "the latest is another one")
  }
  return 0
}

private func padded(_ input: UnsafeBufferPointer<UInt8>) -> Bytes {
  var copy = Bytes(repeating: 0, count: RecordCodec.copyLength)
  copy.withUnsafeMutableBytes {
    $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input).prefix($0.count)))
  }
  return copy
}

private func isSame(_ one: Bytes, _ other: Bytes) -> Bool {
  one.count == other.count && fuzz_is_same(one, other, one.count) != 0
}

/// Which bytes a name can have.
private let isKept = (0...255).map { Record.canKeep(name: [$0]) }

/// A record made of the input's bytes, eight at a time.
private func anyRecord(_ input: UnsafeBufferPointer<UInt8>) -> Record {
  func number(_ index: Int) -> UInt64 {
    input.dropFirst(index * 8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
  let isKept = isKept
  let name = Bytes(input.lazy.filter { isKept[Int($0)] }.prefix(255))
  var record = Record.Fields(
    generation: number(1), uid: UInt32(truncatingIfNeeded: number(0)), name: name.isEmpty ? [0x61] : name)
  if !input.isEmpty { record.state = .enrolled(sealed: Bytes(input.prefix(Record.longestSealed))) }
  record.disabled = number(2) & 1 == 1
  let moment = Instant(boot: BootID(high: number(3), low: number(4)), milliseconds: number(5))
  record.terms = Terms(
    change: Terms.Change.allCases[Int(number(2) >> 8 & 0xff) % 3], expiry: number(10),
    seenTime: number(10) == 0 ? 0 : number(11),
    seenAt: number(10) == 0 ? .never : Instant(boot: moment.boot, milliseconds: number(12)))
  record.enrolledBy = [.unknown, .root, .password, .passcode][Int(number(2) >> 4 & 3)]
  record.unlockedBy = [.unknown, .root, .password, .nobody][Int(number(2) >> 6 & 3)]
  record.failureService = Record.serviceName(Bytes(input))
  record.attemptID = Bytes(input.prefix(Record.attemptIDLength))
  if record.attemptID.count < Record.attemptIDLength { record.attemptID = [] }
  record.ledger = Ledger(
    failures: UInt32(truncatingIfNeeded: number(6)), lastFailure: moment, served: number(2) & 2 == 2)
  (record.times.enrolled, record.times.success) = (number(7), number(8))
  record.times.failure = number(9)
  return Record(record)
}
