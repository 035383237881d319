// Any bytes at all, as an answer of etcd's gateway, as its HTTP, and as what a verifier and a workstation send each other:
// each is read whole or refused, what is read can be written again, and nothing traps.

@c(LLVMFuzzerTestOneInput)
public func fuzzEtcd(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if case .whole(let response) = HTTPResponse.read(input) {
    precondition((200...599).contains(response.status) && response.body.count <= size)
    fuzzAnswer(response.body)
    _ = EtcdAnswer.wantsToken(response)
  }
  fuzzAnswer(input)
  if let decoded = bytes(base64: input[...]) { precondition(base64(decoded) == input) }
  precondition(bytes(base64: base64(input)[...]) == input)
  if let reply = FleetReply.decoded(input) {
    precondition(FleetReply.decoded(FleetReply.encoded(reply)) == reply)
  }
  if let count = StationCount(input) { precondition(count.encoded == input) }
  if let seen = FleetSeen(input) { precondition(seen.encoded == input) }
  if let account = FleetKeys.account(input) { precondition(FleetKeys.record(account) == input) }
  if let options = try? FleetOptions(file: input[...], path: []) {
    precondition(!options.name.isEmpty && options.lockout.endsWithTime)
  }
  return 0
}

private func fuzzAnswer(_ body: Bytes) {
  let key = Bytes(text: "k")
  let transaction = EtcdTransaction(
    if: [.unchanged(key, revision: 1)], [.read(key), .put(key, value: key, lease: 1)], otherwise: [.read(key)]
  )
  if let outcome = EtcdOutcome(body, of: transaction) {
    precondition(outcome.results.count == (outcome.succeeded ? 2 : 1))
    if let entry = outcome.entry(0) { precondition(entry.key == key && entry.modified > 0) }
  }
  _ = EtcdAnswer.lease(body, seconds: 60)
  _ = EtcdAnswer.timeLeft(body)
  if let token = EtcdAnswer.token(body) { precondition(EtcdAnswer.isToken(token)) }
}
