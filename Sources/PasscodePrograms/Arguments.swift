internal import CSystem
public import PasscodeBytes
public import PasscodeSystem

/// The program's own options, by getopt_long(3): they may stand before or after the command.
public enum Arguments {
  public struct Option: Sendable {
    let name: StaticString
    /// The name of its value in `--help`, such as FILE; nil: it takes none.
    let value: Literal?

    /// The name, for messages.
    public var text: [UInt8] { Bytes(text: Literal(stringLiteral: name)) }

    /// The option with the name of its value, for `--help`.
    public var usage: [UInt8] {
      let help = text == Bytes(text: "help") ? Bytes(text: ", -h") : []
      return Bytes(text: "--") + text + (value.map { Bytes(text: " ") + Bytes(text: $0) } ?? help)
    }

    public init(_ name: StaticString, _ value: Literal? = nil) {
      self.name = name
      self.value = value
    }
  }

  public struct Parsed: Sendable {
    /// Indices into the table, in the order given, with their values.
    public var options: [(index: Int, value: [UInt8])] = []
    /// The arguments that aren't options: the command and its operands.
    public var operands: [[UInt8]] = []
  }

  /// A mistake in the options of a command line.
  public enum Problem: Error, Sendable {
    /// The table has no option of that name, which is as it was typed.
    case unknown([UInt8])
    /// Indices into the table: it lacks its value, or got one and takes none.
    case noValue(Int)
    case surplusValue(Int)

    /// The name of the option with the mistake, for messages.
    public func text(_ table: [Option]) -> [UInt8] {
      switch self {
      case .unknown(let text): text
      case .noValue(let index), .surplusValue(let index): Bytes(text: "--") + table[index].text
      }
    }
  }

  /// What the program was started with from its second argument on, if this is its first one; nil: it isn't.
  public static func words(after first: Literal) -> [[UInt8]]? {
    guard let word = unsafe cs_argument(1), unsafe bytes(word) == Bytes(text: first) else { return nil }
    var words: [[UInt8]] = []
    for index in 2..<max(2, cs_argument_count()) {
      if let text = unsafe cs_argument(index) { words.append(unsafe bytes(text)) }
    }
    return words
  }

  /// Becomes this program, with the words after the first `count` as its arguments. Of the environment it gets only who
  /// called sudo, and the language. The corresponding C function is `execve`.
  ///
  /// - Precondition: there are at least `count` words, at least one, and nothing was parsed.
  /// - Returns: why it could not be started.
  public static func become(_ program: [UInt8], after count: Int) -> Errno {
    // SAFETY: a NUL-terminated string; there is an argument before the first one that it gets.
    Errno(unsafe withCString(program) { unsafe cs_pass_on($0, Int32(count + 1)) })
  }

  /// Parses what the program was started with; to be called once.
  public static func parse(_ table: [Option]) throws(Problem) -> Parsed {
    var parsed = Parsed()
    // SAFETY: a StaticString without interpolation is NUL-terminated and lives for ever.
    let entries = unsafe table.map {
      unsafe cs_option(
        name: UnsafeRawPointer($0.name.utf8Start).assumingMemoryBound(to: CChar.self),
        takes_value: $0.value == nil ? 0 : 1)
    }
    while true {
      let found = unsafe cs_next_option(entries, Int32(entries.count))
      if found == -1 { break }
      switch found {
      case -2: throw .unknown(unsafe bytes(cs_option_text()))
      case -3: throw .noValue(Int(cs_option_at_fault()))
      case -4: throw .surplusValue(Int(cs_option_at_fault()))
      default: break
      }
      let value = unsafe cs_option_value().map { unsafe bytes($0) } ?? []
      parsed.options.append((index: Int(found), value: value))
    }
    for index in cs_first_operand()..<max(cs_first_operand(), cs_argument_count()) {
      if let text = unsafe cs_argument(index) { parsed.operands.append(unsafe bytes(text)) }
    }
    return parsed
  }
}

/// A variable of the environment; nil where it isn't set. Only for telling people things: nothing is decided
/// by it. The corresponding C function is `getenv`.
public func environment(_ name: StaticString) -> [UInt8]? {
  // SAFETY: as above; nothing of ours changes the environment.
  let key = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
  guard let value = unsafe getenv(key) else { return nil }
  return unsafe bytes(value)
}
