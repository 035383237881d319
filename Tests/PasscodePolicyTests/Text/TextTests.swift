import Testing

@testable import PasscodePolicy

struct TextTests {
  @Test func `a sentence takes its parts byte for byte`() {
    let name: Bytes = [0x61, 0xff, 0x0a]
    let inner: Text = "in\(7 as UInt32)ner"
    let sentence: Text = "a \(name) b \(inner) c \(UInt64.max) d \(0) é"
    #expect(
      sentence.bytes == Bytes(text: "a ") + name + Bytes(text: " b in7ner c 18446744073709551615 d 0 é"))
  }

  @Test func `a sentence without parts is its UTF-8`() {
    #expect(Text("é\\ \n").bytes == Array("é\\ \n".utf8))
    #expect(Text("").bytes.isEmpty)
    #expect(Text("a") + "b" == Text("ab"))
  }

  @Test(
    arguments: [
      (0, "0"), (9, "9"), (10, "10"), (109, "109"), (9_999_999_999_999_999_999, "9999999999999999999"),
      (.max, "18446744073709551615"),
    ] as [(UInt64, String)])
  func `a number is written in decimal and reads back`(number: UInt64, digits: String) {
    #expect(text(decimalDigits(number)) == digits)
    #expect(decimal(decimalDigits(number)[...]) == number)
  }

  @Test(
    arguments: [
      ("", true), ("c", true), ("conf=", true), ("conf=/", true), ("conf=/a", false), ("Conf", false),
    ] as [(Literal, Bool)])
  func `bytes begin with a text`(prefix: Literal, begins: Bool) {
    #expect(Bytes(text: "xconf=/").dropFirst().begins(with: prefix) == begins)
  }
}
