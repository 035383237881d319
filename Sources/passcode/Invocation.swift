internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool

/// What the tool was asked, all of it known and allowed.
enum Invocation {
  case command(Command, Session)
  /// No command was given: the menu.
  case menu(Session)
  /// `--help` or `--version`.
  case text(Text)

  func run() throws(Failure) -> ExitStatus {
    switch self {
    case .command(let command, let session): return try command.run(as: session)
    case .menu(let session): return try runMenu(session)
    case .text(let text):
      Stream.output.write(text)
      return .done
    }
  }

  static func parse() throws(Failure) -> Invocation {
    let parsed = try arguments()
    var command: Command?
    if let word = parsed.operands.first { command = try Command.named(word) }
    let session = Session(operands: Array(parsed.operands.dropFirst()))
    for (index, value) in parsed.options {
      let option = Command.Option.allCases[index]
      if let command {
        try command.check(option)
      } else if !Command.Option.everywhere.contains(option) {
        throw .optionNeedsCommand(option.entry.text)
      }
      try session.take(option, value)
    }
    if session.has(.version) { return .text("passcode \(version)\n") }
    if session.has(.help) { return .text(command?.help() ?? Command.overview()) }
    guard let command else { return .menu(session) }
    try command.check(session)
    return .command(command, session)
  }

  private static func arguments() throws(Failure) -> Arguments.Parsed {
    let table = Command.Option.allCases.map { $0.entry }
    do throws(Arguments.Problem) {
      return try Arguments.parse(table)
    } catch {
      switch error {
      case .unknown(let text): throw .unknownOption(text)
      case .noValue: throw .noValue(error.text(table))
      case .surplusValue: throw .surplusValue(error.text(table))
      }
    }
  }
}

/// The package's version.
var version: Text { Text(ProgramVersion().text) }

extension Command {
  static func named(_ word: Bytes) throws(Failure) -> Command {
    // Its old name, until 1.0.
    let word = word.spells("verifier") ? Bytes(text: "server") : word
    guard let command = table().first(where: { word == $0.name.bytes }) else {
      throw .unknownCommand(word)
    }
    return command
  }

  /// By the helper, where it is one's own and the caller isn't root; else directly.
  func run(as session: Session) throws(Failure) -> ExitStatus {
    do throws(Failure) { return try start(session) } catch { throw session.namingHolder(error) }
  }

  private func start(_ session: Session) throws(Failure) -> ExitStatus {
    if let batch, session.isBatch { return try StoreBatch(session, batch, name).run() }
    guard let runOwn, let own = try SelfService(session) else { return try run(session) }
    return try own.run(runOwn)
  }

  fileprivate func check(_ option: Option) throws(Failure) {
    guard (options + Option.everywhere).contains(option) else {
      throw .notItsOption(name, option.entry.text)
    }
  }

  fileprivate func check(_ session: Session) throws(Failure) {
    if session.isBatch { return try session.checkBatch() }
    if session.outputPath != nil || session.has(.show) || session.has(.skipEnrolled) { throw .needsBatch }
    let allowed: ClosedRange<Int>
    switch operand {
    case .serverAction: throw .operands(name, operand)
    case .none: allowed = 0...0
    case .user: allowed = 0...1
    case .otherUser, .keyAction: allowed = 1...1
    case .names: allowed = 2...2
    }
    guard allowed.contains(session.operands.count) else {
      throw .operands(name, operand)
    }
  }
}
