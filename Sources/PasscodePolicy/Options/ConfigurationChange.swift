/// A change of the configuration file: some lines are replaced or added; all else, comments included, stays as it is.
public final class ConfigurationChange {
  /// A line that an option gets.
  public final class Line: Sendable {
    /// Where it stands in the file, from 1; 0: the file doesn't set the option.
    public let number: Int
    /// The line as it is; empty: the file doesn't set the option.
    public let before: Bytes
    /// The comment that is written above the line; empty: none.
    let comment: Bytes
    public let after: Bytes

    @inline(never)
    init(_ number: Int, _ before: Bytes, _ comment: Bytes, _ after: Bytes) {
      self.number = number
      self.before = before
      self.comment = comment
      self.after = after
    }
  }

  public let before: Bytes
  public private(set) var after = Bytes()
  /// For people: what goes, with a `-` before it, and what comes, with a `+`, in the file's order. Each line has its end.
  public private(set) var shown = Bytes()

  @inline(never)
  init(_ file: Bytes, _ lines: [Line]) {
    before = file
    var number = 0
    var last = Bytes()
    for text in fileLines(file) {
      number += 1
      var sign: UInt8 = 0
      for line in lines where line.number == number { sign = UInt8(ascii: "-") }
      put(text, sign)
      for line in lines where line.number == number { add(line, after: last) }
      last = text
    }
    after.removeLast()
    var isFirst = true
    for line in lines where line.number == 0 {
      if !after.isEmpty, after.last != newline { after.append(newline) }
      let isParagraph = after.count < 2 || after[after.count - 2] == newline
      // Lines with comments are a paragraph of their own.
      if isFirst, !isParagraph, !line.comment.isEmpty || line.after.begins(with: "#") {
        put([], UInt8(ascii: "+"))
      }
      isFirst = false
      add(line, after: [])
    }
  }

  @inline(never)
  private func add(_ line: Line, after last: Bytes) {
    if !line.comment.isEmpty, line.comment != last { put(line.comment, UInt8(ascii: "+")) }
    put(line.after, UInt8(ascii: "+"))
  }

  /// - Parameter sign: of a line that goes or comes; 0: it stays.
  @inline(never)
  private func put(_ text: Bytes, _ sign: UInt8) {
    let end = Bytes(text: "\n")
    if sign != 0 {
      shown.append(byte: sign)
      shown += printable(text) + end
    }
    if sign != UInt8(ascii: "-") { after += text + end }
  }
}

private var newline: UInt8 { UInt8(ascii: "\n") }

/// What lies between the newlines of a file, before the first and after the last one.
@inline(never)
func fileLines(_ file: Bytes) -> [Bytes] {
  var lines: [Bytes] = []
  _ = file[...].allParts(between: newline) { text in
    lines.append(Bytes(text.span))
    return true
  }
  return lines
}

/// A text without the blanks before and after.
@inline(never)
func trimmed(_ text: ArraySlice<UInt8>) -> Bytes {
  Bytes(text.trimmed().span)
}

extension ConfigurationChange.Line {
  /// - Parameter after: `name=value`.
  @inline(never)
  convenience init(_ after: Bytes, _ comment: Bytes, in file: Bytes) {
    let name = optionName(after)
    var (number, place, before) = (0, 0, Bytes())
    for text in fileLines(file) {
      number += 1
      if optionName(text) == name { (place, before) = (number, text) }
    }
    self.init(place, before, comment, after)
  }

  public var name: Bytes { optionName(after) }

  /// Whether both lines give the option the same value: the same word, or the same time. Presets have no others.
  var meansTheSame: Bool {
    let (old, new) = (ConfigurationChange.value(before), ConfigurationChange.value(after))
    return old == new || duration(new[...]) != nil && duration(old[...]) == duration(new[...])
  }
}

extension ConfigurationChange {
  /// What stands after a line's first `=`; empty: it has none.
  @inline(never)
  public static func value(_ line: Bytes) -> Bytes {
    guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return [] }
    return trimmed(line[(equals + 1)...])
  }
}

/// What stands before a line's first `=`.
@inline(never)
private func optionName(_ line: Bytes) -> Bytes {
  trimmed(line.prefix { $0 != UInt8(ascii: "=") })
}

/// The text of a configuration file, with an option set to this value. All else, comments included, stays as it is.
///
/// - Parameter file: one that the parser accepts, so it has the option at most once.
@inline(never)
public func configurationText(_ file: Bytes, setting name: Literal, to value: Bytes) -> Bytes {
  let option = Bytes(text: name) + Bytes(text: "=") + value
  return ConfigurationChange(file, [ConfigurationChange.Line(option, [], in: file)]).after
}
