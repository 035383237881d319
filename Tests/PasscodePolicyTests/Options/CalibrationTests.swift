import Testing

@testable import PasscodePolicy

struct CalibrationTests {
  /// A machine that takes so many microseconds for a pass over a mebibyte, and has so many mebibytes for a hash.
  private func cost(_ speed: UInt64, _ memory: UInt64, target: UInt64) -> [UInt64] {
    let cost = Calibration.cost(target: target * 1_000, largest: memory << 20) {
      #expect($0.memory <= memory << 20)
      return $0.operations * ($0.memory >> 20) * speed
    }
    return [cost.operations, cost.memory >> 20]
  }

  @Test(arguments: [
    // Memory first, then passes.
    ([300, 1 << 14, 250], [3, 256]), ([300, 1 << 14, 1_000], [3, 1_024]), ([300, 256, 1_000], [13, 256]),
    ([300, 100, 250], [13, 64]), ([300, 8, 100], [41, 8]), ([1, 8, 10_000], [64, 8]),
    // A slow machine.
    ([10_000, 512, 250], [3, 8]), ([20_000, 512, 250], [1, 8]), ([10_000, 512, 10], [1, 8]),
  ])
  func `memory first, then passes`(machine: [UInt64], expected: [UInt64]) {
    #expect(cost(machine[0], machine[1], target: machine[2]) == expected)
  }

  @Test func `where there is hardly any memory, it is measured no more`() {
    let cost = Calibration.cost(target: 250_000, largest: 1 << 20) { _ in nil }
    #expect(cost == Options.Cost(operations: 3, memory: 8 << 20))
  }

  @Test(arguments: [("250ms", 250), ("1s", 1_000), ("10s", 10_000), ("10ms", 10), ("10000ms", 10_000)])
  func `a time`(written: String, milliseconds: UInt64) {
    #expect(Calibration.milliseconds(slice(written)) == milliseconds)
  }

  @Test(arguments: [
    "", "s", "ms", "250", "9ms", "11s", "10001ms", "-1s", "1 s", "1.5s", "1m", "01s", "18446744073709551616s",
  ])
  func `no time`(written: String) {
    #expect(Calibration.milliseconds(slice(written)) == nil)
  }

  @Test(arguments: [
    ("", "opslimit=5\n"), ("# mine\n", "# mine\nopslimit=5\n"), ("weak=warn", "weak=warn\nopslimit=5\n"),
    ("#opslimit=3\nopslimit=3\n# end", "#opslimit=3\nopslimit=5\n# end"),
    ("a\n  opslimit = 3  \n\nb\n", "a\nopslimit=5\n\nb\n"), ("opslimit=3", "opslimit=5"),
    ("opslimits=3\n", "opslimits=3\nopslimit=5\n"), ("\n\n", "\n\nopslimit=5\n"),
  ])
  func `everything else stays`(before: String, after: String) {
    #expect(text(configurationText(Bytes(text: before), setting: "opslimit", to: Bytes(text: "5"))) == after)
    #expect(text(configurationText(Bytes(text: after), setting: "opslimit", to: Bytes(text: "5"))) == after)
  }
}
