// Any bytes as PAM service files that include each other: each is read, what it wants is bounded, and all that is
// told is lines of printable text. What follows from the files is the expensive part: with --runs, one input in eight,
// as its bytes decide (`fuzz_is_judged`).

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeStacks

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStacks(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  var stacks = PAMStacks()
  var name = UInt8(ascii: "a")
  // Files are separated by zeros, and named a, b, c...
  for content in input[...].parts(between: 0).prefix(20) {
    let file = PAMFile(Bytes(content))
    precondition(file.lines.allSatisfy { $0.number > 0 }, "a line without a place")
    stacks.add(Text("\(PAMStacks.folders[Int(name) % 2])/\([name])").bytes, .found(file))
    name += 1
  }
  while let path = stacks.wanted() { stacks.add(path, .missing) }
  if fuzz_is_judged(data, size, 8) != 0 { judge(stacks, input) }
  return 0
}

private func judge(_ stacks: PAMStacks, _ input: Bytes) {
  let report = stacks.report(Options())
  for finding in report.findings {
    precondition(finding.line > 0 && !finding.path.isEmpty, "a finding without a place")
    guard case .option(let fault) = finding.problem else { continue }
    let text = Words.fault(fault, error: []).bytes
    precondition(text.allSatisfy { (0x20...0x7e).contains($0) } && text.count < 1_024)
  }
  for finding in stacks.check(Options(), PAMSurroundings()) {
    precondition(finding.line >= 0 && !finding.path.isEmpty, "a finding without a place")
  }
  let halves = input[...].parts(between: 0)
  if let first = halves.first, let last = halves.last {
    precondition(editedLine(Bytes(first), saved: Bytes(last)).map { $0 > 0 } ?? true)
  }
  precondition(report.unknown.allSatisfy { !$0.path.isEmpty })
  for group in report.groups { precondition(!group.services.isEmpty && !group.path.isEmpty) }
}
