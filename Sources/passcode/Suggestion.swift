internal import PasscodePolicy
internal import PasscodePrograms

/// What somebody may have meant who typed a command or an option that there isn't.
enum Suggestion {
  /// A command as one would type it; nil: nothing is near.
  static func command(_ word: Bytes) -> Text? {
    if word.spells("help") { return "passcode --help" }
    return nearest(word, Command.table().map { $0.name }).map { "passcode \($0)" }
  }

  static func option(_ typed: Bytes) -> Text? {
    if typed.spells("-V") || typed.spells("-v") { return "--version" }
    return nearest(typed, Command.Option.allCases.map { "--\($0.entry.text)" as Text })
  }

  /// The first of those that are nearest, if at most two letters, and fewer than half of them, are wrong.
  private static func nearest(_ word: Bytes, _ names: [Text]) -> Text? {
    guard word.count <= 32 else { return nil }
    var found: Text?
    var least = min(3, (word.count + 1) / 2)
    for name in names {
      let distance = distance(word, name.bytes)
      if distance < least { (found, least) = (name, distance) }
    }
    return found
  }

  /// How many letters have to be inserted, left out or replaced.
  private static func distance(_ first: Bytes, _ second: Bytes) -> Int {
    var row = Array(0...second.count)
    for (line, letter) in first.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for (column, other) in second.enumerated() {
        let replaced = diagonal + (letter == other ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
      }
    }
    return row[second.count]
  }
}
