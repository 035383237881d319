/// Options that go together, for `passcode configure --preset NAME`. A file that has them names the preset in a comment, so
/// that `passcode check` can say where the file has become different:
///
///     # passcode configure --preset desktop
///
/// All of it is text in the file: no program but the tool knows of presets.                             PresetTests
public struct Preset: Sendable {
  /// An option of the preset: name, value, and the comment that is written above the line.
  public struct Setting: Sendable {
    public let name: String
    public let value: String
    let comment: String

    var line: Bytes { Bytes(text: name) + [UInt8(ascii: "=")] + Bytes(text: value) }
  }

  /// An option that a file has otherwise, or not at all.
  public struct Difference: Sendable {
    public let setting: Setting
    /// From 1; 0: the file doesn't set it.
    public let line: Int
    /// The line as it is; empty: the file doesn't set it.
    public let before: Bytes
  }

  public let name: String
  public let settings: [Setting]

  public static var all: [Preset] { [desktop] }

  /// As on phones: the password after each boot, and now and then in place of the fingerprint. Only what every account can
  /// do that logs in by a password: nothing here needs a line of its own in the PAM stacks.
  static var desktop: Preset {
    Preset(
      name: "desktop",
      settings: [
        Setting(
          name: "first_login", value: "deny",
          comment:
            "# After each boot, the password is needed once. It also opens keyrings and encrypted homes."),
        Setting(
          name: "finger_for", value: "72h",
          comment: "# For how long the fingerprint serves after the passcode or the password was used."),
      ])
  }

  public static func named(_ name: ArraySlice<UInt8>) -> Preset? {
    all.first { name.spells($0.name) }
  }

  private static var mark: String { "# passcode configure --preset" }

  /// Which preset a file names, and on which line, from 1; nil: none. Where there are several, the last one counts.
  public static func mark(in file: Bytes) -> (name: Bytes, line: Int)? {
    let lines = file[...].parts(between: UInt8(ascii: "\n"))
    guard let index = lines.lastIndex(where: { isMark($0) }) else { return nil }
    return (Bytes(lines[index].trimmed().dropFirst(mark.utf8.count).trimmed()), index + 1)
  }

  private static func isMark(_ line: ArraySlice<UInt8>) -> Bool { line.trimmed().begins(with: mark) }

  /// Where a file differs from the preset, in the preset's order. What means the same is no difference.
  ///
  /// - Throws: what the parser says of the file.
  public func differences(from file: Bytes, path: Bytes) throws(Fault) -> [Difference] {
    var parser = OptionParser()
    try parser.take(file: file[...], path: path)
    let lines = file[...].parts(between: UInt8(ascii: "\n"))
    var found: [Difference] = []
    for setting in settings {
      var other = OptionParser(parser.options)
      try other.take(file: setting.line[...], path: path)
      let index = lines.firstIndex { optionName($0).spells(setting.name) }
      guard other.options != parser.options || index == nil else { continue }
      found.append(
        Difference(setting: setting, line: (index ?? -1) + 1, before: index.map { Bytes(lines[$0]) } ?? []))
    }
    return found
  }

  /// The file with the preset. Each option that differs is replaced where it stands, or added at the end, with its comment
  /// above it; all else, comments included, stays as it is.
  ///
  /// - Returns: the file itself, if it has the preset and names it.
  /// - Throws: what the parser says of the file, or of the new one, which could be too large.
  public func applied(to file: Bytes, path: Bytes) throws(Fault) -> Bytes {
    let differences = try differences(from: file, path: path)
    var lines = file[...].parts(between: UInt8(ascii: "\n")).map { Bytes($0) }
    for difference in differences.sorted(by: { $0.line > $1.line }) where difference.line > 0 {
      let index = difference.line - 1
      lines[index] = difference.setting.line
      let comment = Bytes(text: difference.setting.comment)
      if index == 0 || lines[index - 1] != comment { lines.insert(comment, at: index) }
    }
    var added: [Bytes] = []
    let mark = Bytes(text: "\(Preset.mark) \(name)")
    if let index = lines.lastIndex(where: { Preset.isMark($0[...]) }) {
      if lines[index][...].trimmed() != mark[...] { lines[index] = mark }
    } else {
      added.append(mark)
    }
    for difference in differences where difference.line == 0 {
      added += [Bytes(text: difference.setting.comment), difference.setting.line]
    }
    let text = Preset.text(lines, added)
    var parser = OptionParser()
    try parser.take(file: text[...], path: path)
    return text
  }

  private static func text(_ lines: [Bytes], _ added: [Bytes]) -> Bytes {
    var lines = lines
    if !added.isEmpty {
      if lines.last?.isEmpty == true { lines.removeLast() }
      if let last = lines.last, !last[...].trimmed().isEmpty { lines.append([]) }
      lines += added + [[]]
    }
    var text = Bytes()
    for line in lines.dropLast() { text += line + [UInt8(ascii: "\n")] }
    return text + (lines.last ?? [])
  }
}

extension Preset {
  /// A line that goes or comes.
  public enum Change: Equatable, Sendable {
    case gone(Bytes), new(Bytes)
  }

  /// What `applied` has changed, in the order of the lines.
  public static func changes(from before: Bytes, to after: Bytes) -> [Change] {
    let (old, new) = (lines(before), lines(after))
    var changes: [Change] = []
    var place = 0
    for (index, line) in new.enumerated() {
      // What comes before a line that stays is new; what doesn't come any more is gone.
      while place < old.count, old[place] != line, !new[index...].contains(old[place]) {
        changes.append(.gone(old[place]))
        place += 1
      }
      if place < old.count, old[place] == line { place += 1 } else { changes.append(.new(line)) }
    }
    return changes
  }

  private static func lines(_ file: Bytes) -> [Bytes] {
    var lines = file[...].parts(between: UInt8(ascii: "\n")).map { Bytes($0) }
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }
}

/// What stands before a line's first `=`.
func optionName(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  line.prefix { $0 != UInt8(ascii: "=") }.trimmed()
}
