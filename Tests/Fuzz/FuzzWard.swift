// Any bytes as what a fleet keeps: a server's options, an account's record, a workstation's count, how far etcd was seen to
// have come, a key's name. What is read is written again as the same bytes; any values are read as they were written.

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

private let codec = RecordCodec(
  checksum: { _ in Bytes(repeating: 0, count: 32) },
  isZero: { $0.allSatisfy { $0 == 0 } })
private let alice = Bytes(text: "alice")

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWard(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if let record = FleetRecord(input, account: alice, codec) {
    precondition(
      record.encoded(codec) == input && record.record.name == alice, "read, and not what is written")
    precondition(FleetRecord(input, account: Bytes(text: "bob"), codec) == nil, "somebody else's")
  }
  if let count = StationCount(input) {
    precondition(count.encoded == input && (1...StationCount.most).contains(count.failures))
  }
  if let owners = StationOwners(input) {
    let mark = Bytes(repeating: 7, count: StationOwners.markLength)
    let more = owners.adding(mark, today: 20_000) ?? owners
    precondition(owners.encoded == input && StationOwners(more.encoded) == more)
    precondition(more.contains(mark, today: 20_000), "let in, and not in the list")
  }
  if let note = ServerNote(input) { precondition(note.encoded == input, "read, and not what is written") }
  if let seen = FleetSeen(input) {
    precondition(seen.encoded == input && seen.next(seen.origin) == seen && seen.raised(to: seen) == seen)
    let past = EtcdOrigin(
      cluster: seen.origin.cluster, revision: seen.origin.revision &- 1, term: seen.origin.term)
    precondition(past.revision > seen.origin.revision || seen.next(past) == nil, "the past was taken")
  }
  if let seen = FleetSeen(text: input) { precondition(FleetSeen(seen.encoded) == seen && !seen.refusesAll) }
  let key = Bytes(input.prefix(80))
  if let account = FleetKeys.account(key) { precondition(FleetKeys.record(account) == key) }
  if let epoch = FleetKeys.epoch(in: input) { precondition(Text("\(epoch)").bytes == input) }
  if let options = try? FleetOptions(file: input[...], path: []) {
    precondition((1...64).contains(options.name.count) && options.lockout.endsWithTime && options.port > 0)
    precondition(
      (try? FleetOptions(file: (input + [10] + input)[...], path: [])) == nil, "each of them twice")
  }
  fuzzValues(Bytes(input.prefix(40)))
  return 0
}

/// Values made of the input's bytes.
private func fuzzValues(_ input: Bytes) {
  func number(_ index: Int) -> UInt64 {
    input.dropFirst(index * 8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
  let count = StationCount(
    failures: 1 + number(0) % StationCount.most,
    window: Bytes(
      (input + Bytes(repeating: 7, count: StationCount.windowLength)).prefix(StationCount.windowLength)))
  precondition(StationCount(count.encoded) == count)
  let seen = FleetSeen(EtcdOrigin(cluster: number(0), revision: number(1), term: number(2)))
  precondition(FleetSeen(seen.encoded) == seen)
  precondition(FleetKeys.account(FleetKeys.record(input)) == input)
}
