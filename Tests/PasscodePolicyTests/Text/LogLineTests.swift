import Testing

@testable import PasscodePolicy

struct LogLineTests {
  @Test func `a line is our words and then pairs`() {
    var line = LogLine("passcode wrong")
    line.add("user", Bytes(text: "alice"))
    line.add("failures", 2)
    #expect(text(line.text) == "passcode wrong user=alice failures=2")
  }

  @Test(arguments: [nil, Bytes()])
  func `a missing or empty value is left out`(value: Bytes?) {
    var line = LogLine("passcode wrong")
    line.add("rhost", value)
    #expect(text(line.text) == "passcode wrong")
  }

  @Test(arguments: [
    ("alice verdict=granted", "alice\\x20verdict\\x3dgranted"),
    ("a\nNov 1 sshd: granted", "a\\x0aNov\\x201\\x20sshd:\\x20granted"),
    ("a\r\u{1b}[2J", "a\\x0d\\x1b[2J"), ("a\"b\\c", "a\\x22b\\x5cc"), ("\\x0a", "\\x5cx0a"),
    ("\u{0}\u{7f}\t", "\\x00\\x7f\\x09"), ("é", "\\xc3\\xa9"), ("\u{202e}", "\\xe2\\x80\\xae"),
    ("DOMAIN+user.name-1@host", "DOMAIN+user.name-1@host"),
  ])
  func `no value can look like another field or another line`(value: String, shown: String) {
    var line = LogLine("passcode wrong")
    line.add("user", Bytes(text: value))
    #expect(text(line.text) == "passcode wrong user=" + shown)
  }

  @Test func `whatever the bytes, a value stays one printable word that can be told apart`() {
    var seen: Set<Bytes> = []
    for byte in UInt8.min...UInt8.max {
      let shown = escape([byte], isSentence: false)
      #expect(shown.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "=") })
      #expect(seen.insert(shown).inserted)
    }
  }

  @Test(arguments: [(128, 128, false), (129, 131, true), (100_000, 131, true)])
  func `a long value is cut, and says so`(length: Int, shown: Int, cut: Bool) {
    let value = escape(Bytes(repeating: UInt8(ascii: "a"), count: length), isSentence: false)
    #expect(value.count == shown)
    #expect(text(value).hasSuffix("...") == cut)
  }

  @Test(arguments: [("two words = fine", "two words = fine"), ("a\nb", "a\\x0ab"), ("a\"b", "a\\x22b")])
  func `a value within a sentence keeps its blanks and nothing else`(value: String, shown: String) {
    #expect(text(printable(Bytes(text: value))) == shown)
  }

  @Test(arguments: [
    ("no such file", "no such file"), ("run \"passcode unlock\"", "run 'passcode unlock'"), ("\"", "'"),
    ("x\" user=root cause=\"", "x' user=root cause='"), ("\\\"", "\\'"),
  ])
  func `a quote within a sentence doesn't end it`(sentence: String, shown: String) {
    var line = LogLine("passcode unavailable")
    line.add("cause", sentence: Bytes(text: sentence))
    line.add("user", Bytes(text: "alice"))
    #expect(text(line.text) == "passcode unavailable cause=\"\(shown)\" user=alice")
  }
}
