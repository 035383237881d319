// Any bytes at all, as a configuration file and as a module line: the parser returns options or an error
// that is one printable line, and takes what it took once again to the same result. It never traps.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOptions(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  let path = Bytes(text: "/f")
  check { (parser: inout OptionParser) throws(Fault) in try parser.take(file: input[...], path: path) }

  let arguments = input.split(separator: 0, omittingEmptySubsequences: false).map(Bytes.init)
  check { (parser: inout OptionParser) throws(Fault) in
    let line = try ModuleLine(arguments)
    if let path = line.configuration { precondition(isPlainPath(path[...])) }
    try parser.take(arguments: line.options)
    precondition(parser.options.policy == Options().policy, "a module line changed the policy")
  }
  return 0
}

private func check(_ parse: (inout OptionParser) throws(Fault) -> Void) {
  var parser = OptionParser()
  do throws(Fault) {
    try parse(&parser)
    let taken = parser.options
    try parse(&parser)
    precondition(parser.options == taken, "taken twice, and not the same")
    precondition(
      Options.Cost.memoryRange.contains(taken.policy.cost.memory) && !taken.policy.lockout.steps.isEmpty)
  } catch {
    let text = Words.fault(error, error: []).bytes
    precondition(text.allSatisfy { (0x20...0x7e).contains($0) } && text.count < 1_024)
  }
}
