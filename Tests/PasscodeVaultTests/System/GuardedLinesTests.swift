import PasscodePrograms
import PasscodeSystem
import Testing

/// The lines of a file, whatever pieces it is read in.
@Suite struct GuardedLinesTests {
  private let sodium: Sodium

  init() throws { sodium = try #require(Sodium()) }

  /// The lines; nil for one that is too long.
  private func lines(_ content: String) throws -> [String?] {
    guard let directory = TemporaryDirectory(prefix: "passcode-lines") else { throw Errno(2) }
    try directory.write(Array("list".utf8), Array(content.utf8))
    guard var lines = try GuardedLines.open(directory.path + Array("/list".utf8), sodium) else {
      throw Errno(12)
    }
    var found: [String?] = []
    while true {
      switch lines.next() {
      case .line:
        found.append(lines.read { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) })
      case .tooLong: found.append(nil)
      case .notYet: try lines.fill()
      case .end:
        let (position, size) = (lines.position, lines.size)
        #expect(position == content.utf8.count && size == content.utf8.count)
        return found
      }
    }
  }

  @Test(arguments: ["", "alice", "alice\n", "\n\n", "a\n\nb", "alice:0471\nbob:0471\n"])
  func `the last one needs no newline`(content: String) throws {
    let expected = content.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(try lines(content) == (expected.last == "" ? expected.dropLast() : expected))
  }

  @Test func `511 bytes fit, and one that is longer hides no other`() throws {
    for length in [510, 511, 512, 513, 4_095, 4_096, 4_097, 9_000] {
      let long = String(repeating: "x", count: length)
      let kept = length > 511 ? nil : long
      #expect(try lines("a\n\(long)\nb") == ["a", kept, "b"])
      #expect(try lines("a\n\(long)") == ["a", kept])
    }
  }

  @Test func `lines over the end of a piece are whole`() throws {
    let many = (0..<3_000).map { "person\($0):\($0 % 7)" }
    #expect(try lines(many.joined(separator: "\n")) == many)
  }
}
