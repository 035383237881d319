import Testing

@testable import PasscodePolicy

struct AnswerTests {
  private func answer(_ bytes: Bytes) -> Answer { Answer(bytes.span) }

  @Test(arguments: ["0000", "0123", "9999", "000000", "012345", "999999"])
  func `four or six digits are a passcode, whatever they begin with`(typed: String) {
    #expect(answer(Bytes(text: typed)) == .passcode)
  }

  @Test func `just Enter is empty`() {
    #expect(answer([]) == .empty)
  }

  @Test(arguments: [
    "0", "12", "123", "12345", "1234567", "abcd", "123a", "a234", "12a456", "12345a", " 1234", "1234 ",
    "1234\n",
    "12 4", "-123", "+123", "1.23", "1e10", "0x12", "٤", "٤٤", "٤٤٤", "４", "４４", "１２３４", "٠١٢٣",
    "correct horse",
    "/:/:", "\u{0}\u{0}\u{0}\u{0}",
  ])
  func `anything else is something else`(typed: String) {
    #expect(answer(Bytes(text: typed)) == .other)
  }

  @Test func `no single byte but a digit makes four of a passcode`() {
    for byte in UInt8.min...UInt8.max {
      for place in 0..<4 {
        var typed = Bytes(text: "1234")
        typed[place] = byte
        #expect(answer(typed) == ((0x30...0x39).contains(byte) ? .passcode : .other))
      }
    }
  }

  @Test func `ten thousand digits are no passcode`() {
    #expect(answer(Bytes(repeating: UInt8(ascii: "1"), count: 10_000)) == .other)
  }
}
