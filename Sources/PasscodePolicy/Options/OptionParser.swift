/// One parser for the file and for module arguments. Nothing is guessed: an unknown name, a policy option in a module line,
/// a bad value, an option given twice in one place: each is an error, and no passcode is usable until it is fixed.
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

  /// The options as configured so far, and defaults for the others.
  public package(set) var options: Options

  public init(_ options: Options = Options()) {
    self.options = options
  }

  /// Takes the options of a configuration file.
  ///
  /// - Parameter path: for errors only.
  public mutating func take(file: ArraySlice<UInt8>, path: Bytes) throws(Fault) {
    var first: Fault?
    take(file: file, path: path) { fault in
      first = fault
      return false
    }
    if let first { throw first }
  }

  /// - Parameter goesOn: gets each fault, and says whether to read on.
  mutating func take(file: ArraySlice<UInt8>, path: Bytes, _ goesOn: (Fault) -> Bool) {
    guard file.count <= OptionParser.largestFile else {
      _ = goesOn(Fault(.fileTooLarge, path: path, number: 1))
      return
    }
    var seen: UInt64 = 0
    var place = Place(path: path, line: 0)
    let isWhole = file.allParts(between: UInt8(ascii: "\n")) { text in
      place.line += 1
      let option = text.trimmed()
      if option.isEmpty || option.first == UInt8(ascii: "#") { return true }
      do throws(Fault) { try take(option, at: place, &seen) } catch { return goesOn(error) }
      return true
    }
    if isWhole, options.policy.isContradictory {
      _ = goesOn(Fault(.bothNeedsPassword, inConfiguration: true, path: path))
    }
  }

  /// Takes the options of a `ModuleLine`, which override the file's.
  public mutating func take(arguments: [Bytes]) throws(Fault) {
    var seen: UInt64 = 0
    for argument in arguments {
      try take(argument[...].trimmed(), at: .moduleLine, &seen)
    }
  }

  /// The place of an option: its file and line, for messages.
  private struct Place {
    let path: Bytes
    /// 0: a module line.
    var line: UInt64

    static var moduleLine: Place { Place(path: [], line: 0) }
    var isModuleLine: Bool { line == 0 }

    @inline(never)
    func fault(_ reason: Fault.Reason, _ name: Bytes) -> Fault {
      Fault(reason, path: path, name: name, number: line)
    }
  }

  /// - Parameter seen: a bit for each line of the table that was given in this place.
  private mutating func take(
    _ option: ArraySlice<UInt8>, at place: Place, _ seen: inout UInt64
  ) throws(Fault) {
    let equals = option.firstIndex(of: UInt8(ascii: "=")) ?? option.endIndex
    let name = option[..<equals].trimmed()
    let value = equals < option.endIndex ? option[(equals + 1)...].trimmed() : nil
    let isText =
      option.count <= OptionParser.longestLine && option.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 9 }
    let rows = OptionRow.all()
    guard isText, let index = OptionRow.index(of: name, in: rows) else {
      throw place.fault(isText ? .unknownOption : .badLine, shown(option, name, at: place))
    }
    if rows[index].isPolicy, place.isModuleLine {
      throw place.fault(.policyInModuleLine, Bytes(option))
    }
    guard seen & 1 << index == 0 else { throw place.fault(.optionTwice, Bytes(name)) }
    seen |= 1 << index
    guard let value = value ?? (rows[index].isFlag ? Bytes(text: "yes")[...] : nil),
      rows[index].set(&options, value)
    else {
      throw place.fault(.badValue, place.isModuleLine ? Bytes(option) : Bytes(text: rows[index].name))
    }
    // Of the flags only `finger` has this value.
    if place.isModuleLine, rows[index].isFlag, value.spells("both") {
      throw place.fault(.policyInModuleLine, Bytes(option))
    }
  }

  /// What an error may tell of a line.
  @inline(never)
  private func shown(
    _ option: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>, at place: Place
  ) -> Bytes {
    if place.isModuleLine { return Bytes(option) }
    let letters = name.prefix { isLetter($0) || $0 == UInt8(ascii: "_") }
    // Digits only where a value follows: without one it may be a key in base 16.
    let hasValue = name.endIndex < option.endIndex
    let isName =
      letters.count > 0 && name.count <= OptionParser.longestName
      && name.allSatisfy {
        isWordByte($0, or: "_-") && (hasValue || !isDigit($0))
      }
    return Bytes(isName ? name : letters)
  }
}

/// A module line: what only a module line can say, and the options.
///
///     conf=/path        the file to read instead of the default one
///     second_factor     here the passcode is a second factor: refused unless the file has `second_factor`, too
///     proven            alone: the line asks for nothing, and stands behind those that let people in (PasswordProof.swift)
public struct ModuleLine: Equatable, Sendable {
  /// Whether a line is the one that asks for nothing, wherever the word stands in it.
  public static func notesProof(_ arguments: [Bytes]) -> Bool {
    arguments.contains { $0.spells("proven") }
  }

  public private(set) var configuration: Bytes?
  public private(set) var isSecondFactor = false
  public private(set) var options: [Bytes] = []

  /// A line without options.
  public init(configuration: Bytes?, isSecondFactor: Bool = false) {
    self.configuration = configuration
    self.isSecondFactor = isSecondFactor
  }

  public init(_ arguments: [Bytes]) throws(Fault) {
    for argument in arguments {
      if argument.begins(with: "conf=") {
        if configuration != nil { throw Fault(.optionTwice, name: Bytes(text: "conf")) }
        guard isPlainPath(argument[5...]) else { throw Fault(.badValue, name: argument) }
        configuration = Bytes(argument[5...])
      } else if argument.spells("proven") {
        continue
      } else if argument.spells("second_factor") {
        if isSecondFactor { throw Fault(.optionTwice, name: argument) }
        isSecondFactor = true
      } else {
        options.append(argument)
      }
    }
  }
}
