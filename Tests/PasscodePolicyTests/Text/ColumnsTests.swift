import PasscodePolicy
import Testing

@Suite struct ColumnsTests {
  @Test(
    arguments: [
      ("", 0), ("abc", 3), ("Zustand", 7), ("für", 3), ("fu\u{308}r", 3), ("ログイン", 8), ("密码", 4), ("ＡＢ", 4),
      ("한글", 4), ("✓ ok", 4), ("「」", 4), ("🔒", 2), ("a\u{ff9f}", 2), ("état", 4), ("ก", 1), ("𐍈", 1),
    ])
  func `wide characters take two columns`(word: String, width: Int) {
    #expect(columns(Bytes(text: word)[...]) == width)
  }

  @Test(
    arguments: [
      ([0xff], 1), ([0x61, 0xc3], 2), ([0xe3, 0x83], 2), ([0x80, 0x80], 2), ([0xf0, 0x9f, 0x94, 0x61], 4),
      ([0xf8, 0x80, 0x80, 0x80], 4),
    ] as [([UInt8], Int)])
  func `what isn't UTF-8 is a column a byte`(bytes: [UInt8], width: Int) {
    #expect(columns(bytes[...]) == width)
  }
}
