// Any bytes as what a verifier and a workstation send each other: what is read is written again as the same bytes, a reply
// that was cut is none, and nothing is asked that no verifier may answer.

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFleet(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  fuzzRequest(input)
  if let reply = FleetReply.decoded(input) {
    let written = FleetReply.encoded(reply, isUncharged: FleetReply.isUncharged(input))
    precondition(written == Bytes(input.drop { $0 == FleetReply.atWork }))
    precondition(FleetReply.decoded(input.dropLast()) == nil, "whole, and cut")
    if let verdict = reply.verdict { precondition(HelperReply(verdict: verdict).verdict == verdict) }
  }
  return 0
}

private func fuzzRequest(_ input: Bytes) {
  var rest = input[...]
  func next(_ count: Int) -> Bytes? {
    precondition((0...FleetRequest.longestName + 1).contains(count), "not bounded")
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Bytes(rest.prefix(count))
  }
  guard let name = FleetRequest.readName(next) else { return }
  guard let relay = FleetRequest.relayHead(name) else { preconditionFailure("read, and not written") }
  precondition(input.starts(with: relay) && rest.count == input.count - relay.count)
  guard let account = FleetRequest.readAccount(next), let (head, service) = FleetRequest.readHead(next) else {
    return
  }
  let written = FleetRequest.head(account: account) + head.head() + service
  precondition(input.dropFirst(relay.count).starts(with: written), "read, and not what is written")
  precondition(FleetRequest.allows(head) && head.lengths.password == 0 && head.uid == FleetRecord.uid)
  precondition(Record.canKeep(name: account) && Record.serviceName(service) == service)
}
