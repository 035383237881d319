/// Options that go together, for `passcode configure --preset NAME`. A file that has them names the preset in a comment, so
/// that `passcode check` can say where the file has become different:
///
///     # passcode configure --preset desktop
///
/// All of it is text in the file: no program but the tool knows of presets.                             PresetTests
public enum Preset: Sendable {
  /// As on phones: the password after each boot, and now and then in place of the fingerprint. Only what every account can
  /// do that logs in by a password: nothing here needs a line of its own in the PAM stacks.
  case desktop

  public static var all: [Preset] { [.desktop] }

  public var name: Literal {
    switch self {
    case .desktop: "desktop"
    }
  }

  /// For each option the comment that is written above its line, and the line.
  private var text: Literal {
    switch self {
    case .desktop:
      """
      # After each boot, the password is needed once. It also opens keyrings and encrypted homes.
      first_login=deny
      # For how long the fingerprint serves after the passcode or the password was used.
      finger_for=72h
      """
    }
  }

  public static func named(_ name: ArraySlice<UInt8>) -> Preset? {
    name.spells(Preset.desktop.name) ? .desktop : nil
  }

  private static var mark: Literal { "# passcode configure --preset" }

  /// Which preset a file names, and on which line, from 1; nil: none. Where there are several, the last one counts.
  public static func mark(in file: Bytes) -> (name: Bytes, line: Int)? {
    var (name, line, number) = (Bytes(), 0, 0)
    for text in fileLines(file) {
      number += 1
      let text = trimmed(text[...])
      guard text.begins(with: mark) else { continue }
      name = trimmed(text[mark.count...])
      line = number
    }
    return line > 0 ? (name, line) : nil
  }

  /// Where a file differs from the preset, in the preset's order. What means the same is no difference.
  ///
  /// - Throws: what the parser says of the file.
  @inline(never)
  public func differences(from file: Bytes, path: Bytes) throws(Fault) -> [ConfigurationChange.Line] {
    try check(file, path)
    var found: [ConfigurationChange.Line] = []
    var comment = Bytes()
    for text in fileLines(Bytes(text: text)) {
      if text.begins(with: "#") {
        comment = text
        continue
      }
      let line = ConfigurationChange.Line(text, comment, in: file)
      if line.number == 0 || !line.meansTheSame { found.append(line) }
    }
    return found
  }

  /// The file with the preset. Each option that differs is replaced where it stands, or added at the end, with its comment
  /// above it; all else, comments included, stays as it is. A file that has the preset and names it isn't changed.
  ///
  /// - Parameter differences: of this file.
  /// - Throws: what the parser says of the new file, which could be too large.
  public func change(
    of file: Bytes, _ differences: [ConfigurationChange.Line], path: Bytes
  ) throws(Fault) -> ConfigurationChange {
    var lines: [ConfigurationChange.Line] = []
    let named = Preset.mark(in: file)
    if named?.name.spells(name) != true {
      let mark = Bytes(text: Preset.mark) + Bytes(text: " ") + Bytes(text: name)
      lines.append(ConfigurationChange.Line(named?.line ?? 0, [], [], mark))
    }
    for difference in differences { lines.append(difference) }
    let change = ConfigurationChange(file, lines)
    try check(change.after, path)
    return change
  }

  @inline(never)
  private func check(_ file: Bytes, _ path: Bytes) throws(Fault) {
    var parser = OptionParser()
    try parser.take(file: file[...], path: path)
  }
}
