// Any bytes as a request and as a reply: what decodes encodes to the same bytes; every verdict that comes out
// can be said in words and computed with, and encodes to a reply that says the same.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHelper(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if let request = HelperRequest(head: input) {
    precondition(request.head() == input, "decoded, and not what is encoded")
  }
  if let reply = HelperReply(input) {
    precondition(reply.bytes == input, "decoded, and not what is encoded")
    if let verdict = reply.verdict {
      _ = Words.notice(verdict, in: Sentence.inEnglish) { _ in [] }
      if case .unavailable(let fault) = verdict {
        let words = Words.fault(fault, error: []).bytes
        precondition(words.allSatisfy { (0x20...0x7e).contains($0) }, "not one printable line")
      }
      precondition(HelperReply(verdict: verdict).verdict == verdict)
    }
    if let refusal = reply.refusal { precondition(HelperReply(refusal: refusal) == reply) }
    if let status = HelperStatus(reply) {
      precondition(status.reply == reply && HelperStatus(reply) == status)
    }
  }
  return 0
}
