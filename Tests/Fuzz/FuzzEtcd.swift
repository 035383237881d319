// Any bytes at all, as an answer of etcd's gateway, and as its HTTP: each is read whole or refused, nothing
// that was cut is whole, what is read can be written again, and nothing traps.

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEtcd(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if case .whole(let response) = HTTPResponse.read(input) {
    precondition((200...599).contains(response.status) && response.body.count <= size)
    fuzzAnswer(response.body)
    _ = EtcdAnswer.wantsToken(response)
    // Nothing less is whole, nor anything more.
    for cut in [1, 2, size / 2] where cut < size {
      if case .whole = HTTPResponse.read(Bytes(input.dropLast(cut))) { preconditionFailure("whole, and cut") }
    }
    if case .whole = HTTPResponse.read(input + [0]) { preconditionFailure("whole, and longer") }
  }
  fuzzAnswer(input)
  // More of it shows nothing else, and takes most of the time.
  let few = Bytes(input.prefix(64))
  if let decoded = bytes(base64: few[...]) { precondition(base64(decoded) == few) }
  precondition(bytes(base64: base64(few)[...]) == few)
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
  _ = EtcdLease(body)
  _ = EtcdLease.all(body)
  if let health = EtcdHealth(body) { precondition(health.complaints.allSatisfy { $0.count <= 512 }) }
  if let members = EtcdHealth.members(body) { precondition(!members.isEmpty) }
  if let token = EtcdAnswer.token(body) { precondition(EtcdAnswer.isToken(token)) }
}
