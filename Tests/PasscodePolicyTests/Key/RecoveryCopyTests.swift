import Testing

@testable import PasscodePolicy

struct RecoveryCopyTests {
  private let key = Bytes((0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) })

  private func line(_ number: Int, of key: Bytes) -> Bytes {
    var line = Bytes()
    RecoveryCopy.write(number, of: key.span) { line.append($0) }
    return line
  }

  private func line(_ number: Int) -> Bytes { line(number, of: key) }

  /// What a typed line gives; nil: it is no such line.
  private func digits(_ typed: Bytes, _ number: Int) -> [Int: UInt8]? {
    var digits: [Int: UInt8] = [:]
    return RecoveryCopy.read(typed.span, number: number) { digits[$1] = $0 } ? digits : nil
  }

  @Test func `four lines hold the key`() {
    var all: [Int: UInt8] = [:]
    for number in 1...RecoveryCopy.lines { all.merge(digits(line(number), number) ?? [:]) { _, _ in 255 } }
    #expect(all.count == 64)
    #expect(key.indices.allSatisfy { all[2 * $0] == key[$0] >> 4 && all[2 * $0 + 1] == key[$0] & 15 })
  }

  @Test func `a line looks like this`() {
    let zeros = Bytes(repeating: 0, count: 32)
    #expect(text(line(1, of: zeros)) == "1  0000 0000 0000 0000  e")
    #expect(
      text(line(1))
        == "1  0b30 557a 9fc4 e90e  \(String(line(1).map { Character(UnicodeScalar($0)) }.last ?? "?"))")
  }

  @Test(arguments: 1...4)
  func `it may be typed without blanks, without its number, in capitals`(number: Int) {
    let line = line(number)
    let dense = line.filter { $0 != 0x20 }
    let capitals = line.map { $0 >= 0x61 ? $0 - 0x20 : $0 }
    for typed in [dense, Bytes(dense.dropFirst()), capitals, [0x20] + line + [0x20]] {
      #expect(digits(typed, number) == digits(line, number) && digits(typed, number)?.count == 16)
    }
  }

  @Test(arguments: 1...4)
  func `every wrong digit and every other line is found`(number: Int) {
    let dense = line(number).filter { $0 != 0x20 }
    for index in dense.indices {
      for letter in Bytes(text: "0123456789abcdef") where letter != dense[index] {
        var typed = dense
        typed[index] = letter
        #expect(digits(typed, number) == nil, "\(text(typed))")
      }
    }
    for other in 1...4 where other != number {
      #expect(digits(dense, other) == nil && digits(Bytes(dense.dropFirst()), other) == nil)
    }
  }

  @Test(arguments: [
    "", "1", "1  0000 0000 0000 0000", "1  0000 0000 0000 0000  e0", "1  0000 0000 0000 000g  e", "é",
  ])
  func `anything else is none`(typed: String) {
    #expect(digits(Bytes(text: typed), 1) == nil)
  }
}
