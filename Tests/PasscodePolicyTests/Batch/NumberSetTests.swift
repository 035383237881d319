import Testing

@testable import PasscodePolicy

struct NumberSetTests {
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
