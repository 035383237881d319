import Testing

@testable import PasscodePolicy

struct BytesTests {
  @Test(arguments: [("", []), ("a", [0x61]), ("é\0b", [0xc3, 0xa9, 0, 0x62])] as [(Literal, Bytes)])
  func `a literal has its bytes, and none beyond them`(literal: Literal, bytes: Bytes) {
    #expect(literal.indices.map { literal[$0] } == bytes)
    #expect([-1, bytes.count, .max, .min].allSatisfy { literal[$0] == 0 })
  }

  @Test(
    arguments: [
      ("0", 0), ("7", 7), ("10", 10), ("4294967296", 1 << 32),
      ("9999999999999999999", 9_999_999_999_999_999_999),
      ("10000000000000000000", 10_000_000_000_000_000_000), ("18446744073709551615", .max),
    ] as [(String, UInt64)])
  func `a number is its digits`(digits: String, value: UInt64) {
    #expect(decimal(slice(digits)) == value)
  }

  @Test(arguments: [
    "", "00", "01", "-1", "+1", " 1", "1 ", "1_000", "1.0", "0x10", "٤", "４", "1\u{0}",
    "18446744073709551616",
    "99999999999999999999", "100000000000000000000", "000000000000000000001",
  ])
  func `what is no number, or too large, is refused`(digits: String) {
    #expect(decimal(slice(digits)) == nil)
  }

  @Test func `only the ten ASCII digits are digits`() {
    #expect((UInt8.min...UInt8.max).filter(isDigit) == Array("0123456789".utf8))
  }

  @Test func `hexadecimal is two lower-case digits a byte, and reads back`() {
    let all = Bytes(UInt8.min...UInt8.max)
    #expect(text(hexadecimal([0x00, 0x0f, 0xa0, 0xff])) == "000fa0ff")
    #expect(bytes(hexadecimal: hexadecimal(all)[...]) == all)
    #expect(bytes(hexadecimal: []) == Bytes())
  }

  @Test(arguments: ["0", "0A", "FF", "0g", "g0", " 00", "0x00", "000", "٤٤", "-1"])
  func `anything else is no hexadecimal`(digits: String) {
    #expect(bytes(hexadecimal: slice(digits)) == nil)
  }

  @Test(arguments: [("", ""), (" ", ""), ("\t a b \t", "a b"), ("a", "a"), ("\u{a0}a", "\u{a0}a")])
  func `blanks and tabs are trimmed at both ends and nothing else is`(value: String, trimmed: String) {
    #expect(text(slice(value).trimmed()) == trimmed)
  }

  @Test func `bytes spell a text exactly`() {
    #expect(Bytes(text: "reset").spells("reset"))
    #expect(!Bytes(text: "reset").spells("rese") && !Bytes(text: "rese").spells("reset"))
    #expect(!slice("e\u{301}").spells("é"))
  }

  @Test(
    arguments: [
      ("", [""]), (",", ["", ""]), ("a", ["a"]), ("a,b", ["a", "b"]), (",a,,b,", ["", "a", "", "b", ""]),
    ] as [(String, [String])])
  func `parts are what lies between separators, even nothing`(whole: String, parts: [String]) {
    #expect(slice(whole).parts(between: UInt8(ascii: ",")).map { text(Bytes($0)) } == parts)
    // A slice that doesn't begin at 0 or end at the end.
    #expect(slice("x\(whole)x").dropFirst().dropLast().parts(between: UInt8(ascii: ",")).count == parts.count)
  }

  @Test(
    arguments: [
      ("", []), (" \t ", []), ("a", ["a"]), ("a b", ["a", "b"]), ("\ta  \tbc ", ["a", "bc"]),
    ] as [(String, [String])])
  func `words are what stands between blanks and tabs`(whole: String, words: [String]) {
    #expect(slice(whole).words().map { text(Bytes($0)) } == words)
    #expect(slice("x\(whole)x").dropFirst().dropLast().words().map { text(Bytes($0)) } == words)
  }
}
