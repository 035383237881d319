import PasscodePolicy
import Testing

/// Options that go together: what a file becomes, and where it differs.
@Suite struct PresetTests {
  private let desktop: Preset

  init() throws {
    desktop = try #require(Preset.named(Bytes(text: "desktop")[...]))
  }

  private let mark = "# passcode configure --preset desktop"

  private func change(_ file: Bytes) throws -> ConfigurationChange {
    try desktop.change(of: file, try desktop.differences(from: file, path: []), path: [])
  }

  private func applied(_ text: String) throws -> String {
    String(decoding: try change(Bytes(text: text)).after, as: UTF8.self)
  }

  @Test func anEmptyFileGetsThePresetWithAComment() throws {
    let lines = try applied("").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 6 && lines[0] == mark)
    #expect(lines[1].hasPrefix("# ") && lines[2] == "first_login=deny")
    #expect(lines[3].hasPrefix("# ") && lines[4] == "finger_for=72h" && lines[5] == "")
  }

  @Test(arguments: Preset.all.map { text($0.name) })
  func eachIsTakenByTheParserAndChangesWhatItNames(name: String) throws {
    let preset = try #require(Preset.named(Bytes(text: name)[...]))
    var parser = OptionParser()
    let differences = try preset.differences(from: [], path: [])
    let text = try preset.change(of: [], differences, path: []).after
    try parser.take(file: text[...], path: [])
    #expect(parser.options != Options())
    let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
    #expect(!lines.isEmpty && lines.map { Bytes($0) } == differences.map(\.after))
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
    #expect(found.map(\.number) == [2, 0])
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

  @Test func whatIsShownIsWhatChanges() throws {
    let file = Bytes(text: "quiet\nfinger_for=1h\n# ours")
    let change = try self.change(file)
    let shown = String(decoding: change.shown, as: UTF8.self).split(separator: "\n")
    #expect(change.before == file && shown.count == 7)
    #expect(shown[0] == "-finger_for=1h" && shown[1].hasPrefix("+# ") && shown[2] == "+finger_for=72h")
    #expect(shown[3] == "+" && shown[4] == "+" + mark)
    #expect(shown[5].hasPrefix("+# ") && shown[6] == "+first_login=deny")
    #expect(try self.change(change.after).shown.isEmpty)
  }
}
