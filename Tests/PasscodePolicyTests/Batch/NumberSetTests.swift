import Testing

@testable import PasscodePolicy

struct NumberSetTests {
  /// Numbers whose low bits are the same, as directories hand them out to branches, don't lie in one row.
  @Test func `steps of 65,536 cost no more than others`() {
    func taken(step: UInt32) -> Duration {
      let start = processorTime()
      var set = NumberSet()
      for number in 0..<UInt32(30_000) { _ = set.insert(number &* step) }
      return processorTime() - start
    }
    #expect(taken(step: 65_536) < taken(step: 1) * 20)
  }

  @Test func `each number is new once`() {
    var set = NumberSet()
    let numbers: [UInt32] = (0..<20_000).map { $0 * 3 } + [UInt32.max - 1] + (0..<5_000).map { $0 << 17 + 1 }
    let different = Set(numbers)
    var new = 0
    for number in numbers where set.insert(number) { new += 1 }
    #expect(new == different.count)
    let again = numbers.contains { set.insert($0) }
    #expect(!again)
  }
}
