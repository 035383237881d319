// Any bytes, as a text of base64 and as what one is made of: libsodium reads and writes the same.

import CFuzz
import PasscodeFleetPolicy
import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBase64(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))

  var theirs = Bytes(repeating: 0, count: size + 1)
  // libsodium 1.0.18 takes each byte above 127 for a digit.
  let length = input.allSatisfy { $0 < 128 } ? fuzz_unbase64(input, size, &theirs, theirs.count) : -1
  let meant = length < 0 ? nil : Bytes(theirs.prefix(length))
  precondition(bytes(base64: input[...]) == meant, "read in another way")

  var text = Bytes(repeating: 0, count: (size + 2) / 3 * 4 + 1)
  fuzz_base64(input, size, &text, text.count)
  precondition(base64(input) == Bytes(text.dropLast()), "written in another way")
  precondition(bytes(base64: base64(input)[...]) == input, "not read again")
  return 0
}
