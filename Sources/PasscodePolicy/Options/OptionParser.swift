/// One parser for the file and for module arguments. Nothing is guessed: an unknown name, a policy option
/// in a module line, a value that isn't one, an option given twice in one place: each is an error, and the
/// passcode is unusable until it is fixed.
///
/// A line of the file is written exactly as a module argument: `name=value`, or a flag's name alone.
/// Blanks around a line and around its first `=` don't count; a line that starts with `#` is a comment.
///
/// An error tells a module's argument whole. Of a line of the file it MUST tell no more than the word that it begins
/// with: some other file of root's may have been named for a configuration, a key or /etc/shadow.       OptionTests
public struct OptionParser {
  /// Bytes; a larger one is an error.
  public static let largestFile = 65_536
  /// Bytes.
  public static let longestLine = 1_200
  /// Bytes of what may be meant for an option's name; the longest name has 14.
  private static let longestName = 20

  /// The defaults, but for what was taken.
  public private(set) var options: Options

  public init(_ options: Options = Options()) {
    self.options = options
  }

  /// Takes the options of a configuration file.
  ///
  /// - Parameter path: for errors only.
  public mutating func take(file: ArraySlice<UInt8>, path: Bytes) throws(OptionError) {
    guard file.count <= OptionParser.largestFile else {
      throw OptionError(.fileTooLarge, at: .file(path, line: 1), text: [])
    }
    var seen: UInt64 = 0
    var line = 0
    for text in file.parts(between: UInt8(ascii: "\n")) {
      line += 1
      let place = OptionError.Place.file(path, line: line)
      let option = text.trimmed()
      if option.isEmpty || option.first == UInt8(ascii: "#") { continue }
      try take(option, at: place, &seen)
    }
  }

  /// Takes the arguments of a module line, which override the file's; `conf=` is not among them (see
  /// `ModuleLine`).
  public mutating func take(arguments: [Bytes]) throws(OptionError) {
    var seen: UInt64 = 0
    for argument in arguments {
      try take(argument[...].trimmed(), at: .moduleLine, &seen)
    }
  }

  /// - Parameter seen: a bit for each line of the table that was given in this place.
  private mutating func take(
    _ option: ArraySlice<UInt8>, at place: OptionError.Place, _ seen: inout UInt64
  ) throws(OptionError) {
    let equals = option.firstIndex(of: UInt8(ascii: "=")) ?? option.endIndex
    let name = option[..<equals].trimmed()
    let value = equals < option.endIndex ? option[(equals + 1)...].trimmed() : nil
    guard option.count <= OptionParser.longestLine, option.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 9 })
    else {
      throw OptionError(.badText, at: place, text: shown(option, name, at: place))
    }
    let rows = OptionRow.all()
    guard let index = rows.firstIndex(where: { name.spells($0.name) }) else {
      throw OptionError(.unknown, at: place, text: shown(option, name, at: place))
    }
    if rows[index].kind == .policy, place == .moduleLine {
      throw OptionError(.policyInModuleLine, at: place, text: Bytes(option))
    }
    guard seen & 1 << index == 0 else { throw OptionError(.twice, at: place, text: Bytes(name)) }
    seen |= 1 << index
    try set(rows[index], to: value, option, at: place)
  }

  private mutating func set(
    _ row: OptionRow, to value: ArraySlice<UInt8>?, _ option: ArraySlice<UInt8>, at place: OptionError.Place
  ) throws(OptionError) {
    guard let value = value ?? (row.isFlag ? Bytes(text: "yes")[...] : nil), row.set(&options, value) else {
      let text = place == .moduleLine ? Bytes(option) : Bytes(text: row.name)
      throw OptionError(.badValue(allowed: Bytes(text: row.values)), at: place, text: text)
    }
  }

  /// What an error may tell of a line.
  @inline(never)
  private func shown(
    _ option: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>, at place: OptionError.Place
  ) -> Bytes {
    if place == .moduleLine { return Bytes(option) }
    let letters = name.prefix { isLetter($0) || $0 == UInt8(ascii: "_") }
    // Digits only where a value follows: without one it may be a key in base 16.
    let hasValue = name.endIndex < option.endIndex
    let isName =
      letters.count > 0 && name.count <= OptionParser.longestName
      && name.allSatisfy {
        isLetter($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") || hasValue && isDigit($0)
      }
    return Bytes(isName ? name : letters)
  }

  private func isLetter(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }
}

/// A module line: what only a module line can say, and the options.
///
///     conf=/path        the file to read instead of the usual one
///     second_factor     here the passcode is a second factor: refused unless the file has `second_factor`, too
public struct ModuleLine: Equatable, Sendable {
  public private(set) var configuration: Bytes?
  public private(set) var isSecondFactor = false
  public private(set) var options: [Bytes] = []

  /// A line without options.
  public init(configuration: Bytes?, isSecondFactor: Bool = false) {
    self.configuration = configuration
    self.isSecondFactor = isSecondFactor
  }

  public init(_ arguments: [Bytes]) throws(OptionError) {
    for argument in arguments {
      if argument[...].begins(with: "conf=") {
        try setConfiguration(argument)
      } else if argument.spells("second_factor") {
        if isSecondFactor { throw OptionError(.twice, at: .moduleLine, text: argument) }
        isSecondFactor = true
      } else {
        options.append(argument)
      }
    }
  }

  private mutating func setConfiguration(_ argument: Bytes) throws(OptionError) {
    guard configuration == nil else { throw OptionError(.twice, at: .moduleLine, text: Bytes(text: "conf")) }
    let path = argument[5...]
    guard isPlainPath(path) else {
      throw OptionError(.badValue(allowed: Bytes(text: "an absolute path")), at: .moduleLine, text: argument)
    }
    configuration = Bytes(path)
  }
}

/// What is wrong with an option, and where.
public struct OptionError: Error, Equatable, Sendable {
  public enum Place: Equatable, Sendable {
    case file(Bytes, line: Int)
    case moduleLine
  }

  public enum Problem: Equatable, Sendable {
    case unknown, policyInModuleLine, twice, badText, fileTooLarge
    case badValue(allowed: Bytes)
  }

  public let problem: Problem
  public let place: Place
  /// A module's argument; of a file's line the name, as far as it looks like one.
  public let name: Bytes

  public init(_ problem: Problem, at place: Place, text: Bytes) {
    self.problem = problem
    self.place = place
    self.name = text
  }

  /// One line: `/etc/security/passcode.conf:3: unknown option "foo"`.
  public var text: Text {
    switch place {
    case .file(let path, let line): "\(printable(path)):\(line): \(problemText)"
    case .moduleLine: "module line: \(problemText)"
    }
  }

  private var problemText: Text {
    let name = printable(name)
    switch problem {
    case .unknown: return "unknown option \"\(name)\""
    case .policyInModuleLine: return "\"\(name)\" belongs in the configuration file"
    case .twice: return "\"\(name)\" is given twice"
    case .badText: return "a line too long, or with control characters: \"\(name)\""
    case .fileTooLarge: return "the file is larger than 64 KiB"
    case .badValue(let allowed): return "\"\(name)\" needs \(allowed)"
    }
  }

  /// What every door makes of it.
  public var fault: Fault {
    Fault(.configuration, text)
  }
}
