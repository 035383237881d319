// Any line of a list: a user whose name is the line's beginning and holds nothing that could be taken for more, or a
// reason. With a passcode only where the rest is one.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBatch(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let line = Bytes(UnsafeBufferPointer(start: start, count: count))
  for form in [BatchLine.Form.user, .userAndPasscode] {
    switch BatchLine(line.span, form) {
    case .user(let name):
      precondition(line.starts(with: name) && 1...255 ~= name.count)
      precondition(!name.contains { $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: ":") })
      let rest = Bytes(line.dropFirst(name.count + 1))
      precondition(form == .user ? name == line : Answer(rest.span) == .passcode)
    case .nothing: precondition(line.isEmpty || line[0] == UInt8(ascii: "#"))
    case .bad: precondition(!line.isEmpty)
    }
  }
  return 0
}
