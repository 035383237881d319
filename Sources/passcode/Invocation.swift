internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What the tool was asked: a command with its operand and options, all of them known and allowed.
struct Invocation {
  private let command: Command
  private let session: Session
  private let asksForHelp: Bool

  func run() throws(Failure) -> ExitStatus {
    if asksForHelp {
      Stream.output.write(command.help())
      return .done
    }
    do throws(Failure) {
      return try command.run(as: session)
    } catch {
      throw error.isBusy ? session.namingHolder(error) : error
    }
  }

  static func parse() throws(Failure) -> Invocation {
    let parsed = try arguments()
    let chosen = parsed.options.map { (option: Command.Option.allCases[$0.index], value: $0.value) }
    guard let word = parsed.operands.first else { return try withoutCommand(chosen) }
    guard let command = Command.table().first(where: { word == $0.name.bytes }) else {
      throw Failure(.usage, "no command \"\(printable(word))\": see passcode --help")
    }
    if chosen.contains(where: { $0.option == .version }) { return versionShown() }
    for (option, _) in chosen
    where !(command.options + Command.Option.everywhere).contains(where: { $0 == option }) {
      throw Failure(
        .usage, "\(command.name) has no option \(option.name): see passcode \(command.name) --help")
    }
    var session = Session(operands: Array(parsed.operands.dropFirst()))
    for (option, value) in chosen { try session.take(option, value) }
    let asksForHelp = chosen.contains { $0.option == .help }
    if !asksForHelp { try command.check(session.operands) }
    return Invocation(command: command, session: session, asksForHelp: asksForHelp)
  }

  private static func arguments() throws(Failure) -> Arguments.Parsed {
    do throws(Arguments.Unknown) {
      return try Arguments.parse(Command.Option.allCases.map { $0.entry })
    } catch {
      throw Failure(
        .usage, "unknown option, or one without its value: \(printable(error.text)); see passcode --help")
    }
  }

  private static func withoutCommand(
    _ chosen: [(option: Command.Option, value: Bytes)]
  ) throws(Failure) -> Invocation {
    let options = chosen.map { $0.option }
    if options.contains(where: { $0 == .version }) { return versionShown() }
    guard options.contains(where: { $0 == .help }) else {
      var session = Session(operands: [])
      for (option, value) in chosen { try session.take(option, value) }
      let menu = Command(name: "", operand: .none, options: [], summary: "", run: runMenu)
      return Invocation(command: menu, session: session, asksForHelp: false)
    }
    let show = Command(name: "", operand: .none, options: [], summary: "") { (_: Session) throws(Failure) in
      Stream.output.write(Command.overview())
      return .done
    }
    return Invocation(command: show, session: Session(operands: []), asksForHelp: false)
  }

  private static func versionShown() -> Invocation {
    let show = Command(name: "", operand: .none, options: [], summary: "") { (_: Session) throws(Failure) in
      Stream.output.write("passcode \(version)\n")
      return .done
    }
    return Invocation(command: show, session: Session(operands: []), asksForHelp: false)
  }
}

/// The package's version; debian/changelog has the same (a test compares them).
var version: Text { "0.1.0" }

extension Command.Option {
  /// `--name`, for messages.
  var name: Text { "--\(entry.text)" }
}

extension Command {
  /// By the helper, where it is one's own and the caller isn't root; else directly.
  func run(as session: Session) throws(Failure) -> ExitStatus {
    guard SelfService.knows(name), let own = try SelfService(session) else { return try run(session) }
    return try own.run(name)
  }

  /// A command by its name, for oneself.
  static func run(_ name: Text, _ session: Session) throws(Failure) -> ExitStatus {
    guard let command = table().first(where: { $0.name == name }) else { return .usage }
    return try command.run(as: session)
  }

  fileprivate func check(_ operands: [Bytes]) throws(Failure) {
    let allowed: ClosedRange<Int>
    switch operand {
    case .none: allowed = 0...0
    case .user: allowed = 0...1
    case .otherUser, .keyAction: allowed = 1...1
    }
    guard allowed.contains(operands.count) else {
      throw Failure(.usage, "usage: passcode \(name)\(operand.text); see passcode \(name) --help")
    }
  }
}
