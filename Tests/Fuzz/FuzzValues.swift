// Short texts that say a number, a time, a boot or where accounts come from, and a configuration file that gets another
// value: what is taken has one meaning, and the file that was edited is one that the parser takes.

@testable import PasscodePolicy

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzValues(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  if let number = decimal(input[...]) { precondition(decimalDigits(number) == input, "two spellings") }
  if let raw = bytes(hexadecimal: input[...]) { precondition(hexadecimal(raw) == input, "two spellings") }
  if let seconds = NewTerms.seconds(input) {
    precondition((NewTerms.shortest...NewTerms.longest).contains(seconds))
  }
  if let milliseconds = Calibration.milliseconds(input[...]) { precondition(10...10_000 ~= milliseconds) }
  if let seconds = duration(input[...]) { precondition(seconds <= 365 * 86_400) }
  if let ranges = UserRanges(input[...]) {
    precondition(!ranges.contain(0) && !ranges.contain(.max), "a range with root in it")
    let first = input[...].parts(between: UInt8(ascii: ","))[0].prefix { $0 != UInt8(ascii: "-") }
    precondition(decimal(first).map { ranges.contain(UInt32($0)) } == true, "a range without its first uid")
  }
  if let schedule = Schedule(input[...]) {
    precondition(!schedule.steps.isEmpty)
    // Never fewer failures than before opens it again.
    for failures in 0...40 as ClosedRange<UInt32> {
      let left = schedule.attemptsLeft(after: failures)
      precondition(schedule.delay(after: failures) == .reset || left >= 1)
    }
  }
  if let boot = BootID(kernelText: input[...]) {
    precondition(boot != .none && BootID(hexadecimal: boot.hexadecimalText[...]) == boot)
  }
  let onlyFiles = Bytes(text: "passwd: files\n")
  if passNamesEveryAccount(nsswitch: input) {
    precondition(input.split(separator: 10).contains { $0.starts(with: onlyFiles.prefix(7)) })
    precondition(!passNamesEveryAccount(nsswitch: input + [10] + onlyFiles), "two lines for one")
  }
  let edited = configurationText(input, setting: "opslimit", to: Bytes(text: "2"))
  if OptionParser.faults(input[...], path: []).isEmpty {
    var parser = OptionParser()
    precondition((try? parser.take(file: edited[...], path: [])) != nil, "an edited file with a fault")
    precondition(parser.options.policy.cost.operations == 2)
    precondition(configurationText(edited, setting: "opslimit", to: Bytes(text: "2")) == edited)
  }
  return 0
}
