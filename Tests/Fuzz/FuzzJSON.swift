// Any bytes in a string of JSON: a parser by other people (jansson) takes the line, and finds what we meant.

import CFuzz
@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  let line = Text("{\"version\":1,\"user\":\"\(jsonEscaped(input))\",\"uid\":\(UInt64(size))}\n").bytes
  precondition(line.allSatisfy { $0 == 0x0a || $0 >= 0x20 && $0 != 0x7f }, "a control character")

  var value = Bytes(repeating: 0, count: 3 * size + 1)
  var length = 0
  precondition(fuzz_json(line, line.count, "user", &value, value.count, &length) == 1, "no JSON")
  precondition(length >= 0, "no string")
  // A byte that isn't UTF-8 is U+FFFD, and so is each of the two of a control character from U+0080 on. Only what is
  // UTF-8 is compared: String repairs the rest in another way.
  let read = Bytes(value.prefix(length))
  precondition(String(validating: read, as: UTF8.self) != nil, "not UTF-8")
  if String(validating: input, as: UTF8.self) != nil { precondition(read == meant(input), "another text") }
  return 0
}

/// What JSON can say of this UTF-8.
private func meant(_ text: Bytes) -> Bytes {
  var meant = Bytes()
  var rest = text[...]
  while let byte = rest.popFirst() {
    if byte == 0xc2, let next = rest.first, next < 0xa0 {
      meant += Bytes(text: "\u{fffd}\u{fffd}")
      rest.removeFirst()
    } else {
      meant.append(byte)
    }
  }
  return meant
}
