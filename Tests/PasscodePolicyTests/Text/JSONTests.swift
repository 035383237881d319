import Testing

@testable import PasscodePolicy

struct JSONTests {
  @Test(arguments: [
    ("alice", "alice"), ("", ""), ("a\"b\\c", "a\\\"b\\\\c"), ("\u{0}\n\u{1f}", "\\u0000\\u000a\\u001f"),
    ("/\u{7e}\u{7f}", "/\u{7e}\\u007f"), ("\u{9b}31m\u{a0}", "\u{fffd}\u{fffd}31m\u{a0}"),
    ("\u{80}\u{9f}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
  ])
  func `what would end or break a string, or command a terminal, is escaped`(name: String, escaped: String) {
    #expect(text(jsonEscaped(Bytes(text: name))) == escaped)
  }

  @Test func `every other character stays what it is`() {
    for number in stride(from: UInt32(0xa0), through: 0x10_ffff, by: 61) {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let bytes = Bytes(text: "a\(Character(scalar))b")
      if jsonEscaped(bytes) != bytes { Issue.record("U+\(String(number, radix: 16))") }
    }
    let edges = "\u{a0}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}"
    #expect(jsonEscaped(Bytes(text: edges)) == Bytes(text: edges))
  }

  @Test(
    arguments: [
      // No first byte, or nothing after it.
      [0x80], [0xbf], [0xc2], [0xff], [0xfe], [0xf8, 0x88, 0x80, 0x80, 0x80],
      // Cut off.
      [0xe2, 0x82], [0xf0, 0x9f, 0x98],
      // Longer than they must be.
      [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x9f, 0xbf], [0xf0, 0x8f, 0xbf, 0xbf],
      // Surrogates, and beyond the last one.
      [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf7, 0xbf, 0xbf, 0xbf],
    ] as [Bytes])
  func `each byte that is no character becomes a replacement`(bad: Bytes) {
    let escaped = text(jsonEscaped(Bytes(text: "é") + bad + Bytes(text: "\"")))
    #expect(escaped == "é" + String(repeating: "\u{fffd}", count: bad.count) + "\\\"")
  }

  @Test func `any bytes come out as UTF-8`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let bytes = (0..<12).map { _ in UInt8.random(in: 0x70...0xff, using: &generator) }
      #expect(String(validating: jsonEscaped(bytes), as: UTF8.self) != nil)
    }
  }
}
