// Any arguments: a command that may be run, a text, or a failure with a line of its own and an exit status. And any unit
// file, of which `check` reads the writable paths.

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeSystem
@testable import PasscodeTool
@testable import passcode

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTool(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  // One argument a line.
  var strings = Bytes(text: "passcode") + [0]
  strings += input.map { $0 == UInt8(ascii: "\n") ? 0 : $0 } + [0]
  return strings.withUnsafeBufferPointer { strings in
    fuzz_arguments(strings.baseAddress, strings.count)
    do throws(Failure) {
      check(try Invocation.parse())
    } catch {
      precondition(!error.text.text.bytes.isEmpty && error.status != .done)
      precondition(!error.text.text.bytes.contains { $0 < 0x20 && $0 != 0x0a || $0 == 0x7f }, "not printable")
    }
    for path in writablePaths(input) {
      precondition(!path.contains(UInt8(ascii: "\n")) && path.first != 0x2d)
    }
    return 0
  }
}

private func check(_ invocation: Invocation) {
  switch invocation {
  case .text(let text): precondition(text.bytes.last == UInt8(ascii: "\n"))
  case .menu(let session): check(session)
  case .command(let command, let session):
    check(session)
    precondition(session.operands.count <= 2)
    if session.has(.force) || session.generates { precondition(command.name != "status") }
    if session.batchPath != nil { precondition(command.batch != nil && session.operands.isEmpty) }
  }
}

private func check(_ session: Session) {
  precondition([nil, 4, 6].contains(session.length))
  precondition(10...10_000 ~= session.target)
  precondition(session.terms.seconds == 0 || session.terms.seconds >= NewTerms.shortest)
  if let path = session.configurationPath { precondition(isPlainPath(path[...])) }
}
