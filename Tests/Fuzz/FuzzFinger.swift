// Any bytes as a request, as what came from passcode-finger, and as a touch count: what decodes encodes to the same
// bytes, a match comes only out of a whole transcript, and a count never gives more touches than its limit.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFinger(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if let request = FingerRequest(input) { precondition(request.bytes == input) }
  if let event = FingerEvent(input) { precondition(event.bytes == input) }
  if let transcript = FingerTranscript(input) {
    precondition(input.count <= FingerTranscript.mostEvents * FingerEvent.length)
    precondition(transcript.misses <= FingerTranscript.mostMisses)
    if let serial = transcript.freshMatch(now: 5_000) {
      guard case .matched(serial, let time) = FingerEvent(Bytes(input.suffix(FingerEvent.length))) else {
        preconditionFailure("a match that nobody sent")
      }
      precondition(time <= 5_000)
    }
  }
  // As the module hears it, piece by piece, up to the end of the connection: that never makes a match.
  for end in stride(from: 0, through: input.count, by: FingerEvent.length) {
    guard var transcript = FingerTranscript(Bytes(input[..<end])) else { break }
    let match = transcript.freshMatch(now: 5_000)
    _ = transcript.outcome.word
    transcript.lose()
    precondition(transcript.freshMatch(now: 5_000) == match)
    if case .silent = transcript.state { preconditionFailure("nothing more will come") }
  }
  if var count = TouchCount(input) {
    precondition(input.isEmpty || count.bytes == input)
    var charges = 0
    while let charged = count.charged() { (count, charges) = (charged, charges + 1) }
    precondition(charges <= Int(TouchCount.limit))
  }
  return 0
}
