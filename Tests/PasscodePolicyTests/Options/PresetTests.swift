import PasscodePolicy
import Testing

/// Options that go together: what a file becomes, and where it differs.
@Suite struct PresetTests {
  private let desktop: Preset

  init() throws {
    desktop = try #require(Preset.named(Bytes(text: "desktop")[...]))
  }

  private let mark = "# passcode configure --preset desktop"

  private func applied(_ text: String) throws -> String {
    String(decoding: try desktop.applied(to: Bytes(text: text), path: []), as: UTF8.self)
  }

  @Test func anEmptyFileGetsThePresetWithAComment() throws {
    let lines = try applied("").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 6 && lines[0] == mark)
    #expect(lines[1].hasPrefix("# ") && lines[2] == "first_login=deny")
    #expect(lines[3].hasPrefix("# ") && lines[4] == "finger_for=72h" && lines[5] == "")
  }

  @Test(arguments: Preset.all.map(\.name))
  func eachIsTakenByTheParserAndChangesWhatItNames(name: String) throws {
    let preset = try #require(Preset.named(Bytes(text: name)[...]))
    var parser = OptionParser()
    try parser.take(file: try preset.applied(to: [], path: [])[...], path: [])
    #expect(parser.options != Options())
    #expect(try preset.differences(from: [], path: []).map(\.setting.name) == preset.settings.map(\.name))
  }

  @Test func twiceIsOnce() throws {
    for text in ["", "quiet\n", "finger_for=1h", "# x\n\n\n", "first_login = deny\n"] {
      let once = try applied(text)
      #expect(try applied(once) == once)
      #expect(try desktop.differences(from: Bytes(text: once), path: []).isEmpty)
    }
  }

  @Test func allElseStaysAsItIs() throws {
    let text =
      "# ours\n\n  lengths = 6 \n#first_login=allow\n finger_for\t=  1h  \n# the end, without a newline"
    let lines = try applied(text).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0...3] == ["# ours", "", "  lengths = 6 ", "#first_login=allow"])
    #expect(lines[4].hasPrefix("# ") && lines[5] == "finger_for=72h")
    #expect(lines[6...8] == ["# the end, without a newline", "", Substring(mark)])
    #expect(lines[9].hasPrefix("# ") && lines[10...] == ["first_login=deny", ""])
  }

  @Test func whatMeansTheSameIsNoDifference() throws {
    let text = "finger_for=3d\nfirst_login = deny\n"
    #expect(try desktop.differences(from: Bytes(text: text), path: []).isEmpty)
    #expect(try applied(text) == text + "\n" + mark + "\n")
  }

  @Test func aDifferenceHasItsLine() throws {
    let found = try desktop.differences(from: Bytes(text: "quiet\nfirst_login=allow\n"), path: [])
    #expect(found.map(\.line) == [2, 0])
    #expect(found.map(\.before) == [Bytes(text: "first_login=allow"), []])
  }

  @Test func aFileNamesItsPreset() throws {
    #expect(Preset.mark(in: Bytes(text: "quiet\n# preset\n")) == nil)
    let named = try #require(Preset.mark(in: Bytes(text: "quiet\n  # passcode configure --preset  kiosk \n")))
    #expect(named.name == Bytes(text: "kiosk") && named.line == 2)
    #expect(Preset.named(named.name[...]) == nil)
    let text = try applied("# passcode configure --preset kiosk\nquiet\n")
    #expect(text.hasPrefix(mark + "\nquiet\n\n# ") && !text.contains("kiosk"))
  }

  @Test func aFaultyFileOrOneThatBecomesTooLargeIsLeftAlone() {
    for text in [
      "nonsense=1\n", "quiet\nquiet\n", String(repeating: "#", count: OptionParser.largestFile - 1) + "\n",
    ] {
      #expect(throws: Fault.self) { try applied(text) }
    }
  }

  @Test func whatIsShownIsWhatChanges() {
    let changes = Preset.changes(from: Bytes(text: "a\nb\nc"), to: Bytes(text: "a\n# b\nB\nc\n\nd\n"))
    #expect(
      changes == [
        .gone(Bytes(text: "b")), .new(Bytes(text: "# b")), .new(Bytes(text: "B")), .new([]),
        .new(Bytes(text: "d")),
      ])
    #expect(Preset.changes(from: Bytes(text: "a\n"), to: Bytes(text: "a\n")).isEmpty)
  }
}
