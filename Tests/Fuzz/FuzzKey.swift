// Any line of a recovery copy, any sealed key, any PCRs: no trap; a line that is taken is the one that is written.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzKey(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: start, count: count))
  for number in 1...RecoveryCopy.lines {
    var key = Bytes(repeating: 0, count: 32)
    let isLine = RecoveryCopy.read(input.span, number: number) { digit, place in
      key[place / 2] |= place % 2 == 0 ? digit << 4 : digit
    }
    guard isLine else { continue }
    var written = Bytes()
    RecoveryCopy.write(number, of: key.span) { if $0 != UInt8(ascii: " ") { written.append($0) } }
    let typed = input.filter { $0 != UInt8(ascii: " ") }.map { (65...70).contains($0) ? $0 + 32 : $0 }
    precondition(written.suffix(17) == typed.suffix(17))
  }
  if let pcrs = SealedKey.pcrs(input) { precondition(pcrs.isEmpty || SealedKey.isPCRs(pcrs)) }
  _ = SealedKey.isPCRs(input)
  return 0
}
