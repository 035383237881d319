public import PasscodePolicy
public import PasscodePrograms
public import PasscodeSystem
internal import PasscodeVault

/// Where secrets come from: a terminal that doesn't show them, standard input, or a script (`try --demo`).
public enum Asker {
  case terminal
  case input
  case script(Script)

  /// What answers in a person's place.
  public final class Script {
    fileprivate let answer: (_ question: Text, inout TypedLine) -> LineRead
    fileprivate let hear: (Phrase) -> Void

    public init(answer: @escaping (Text, inout TypedLine) -> LineRead, hear: @escaping (Phrase) -> Void) {
      self.answer = answer
      self.hear = hear
    }
  }

  /// Asks for a line.
  public func ask(_ question: Text, _ line: inout TypedLine) -> LineRead {
    switch self {
    case .terminal:
      guard let terminal = Terminal() else { return .failed(.noTerminal) }
      return line.read(from: terminal, prompt: question.bytes)
    case .input: return line.readFromInput()
    case .script(let script): return script.answer(question, &line)
    }
  }

  /// Tells the person at the terminal why the question comes again.
  public func tell(_ phrase: Phrase) {
    switch self {
    case .terminal: Stream.error.write(Text("\(phrase)\n").bytes)
    case .input: break
    case .script(let script): script.hear(phrase)
    }
  }

  /// Whether a person answers, who can be asked again.
  public var isPatient: Bool {
    if case .input = self { return false }
    return true
  }
}

extension Asker {
  /// Asks for one passcode.
  ///
  /// - Parameter line: is wiped afterwards.
  /// - Returns: what was typed; there is a passcode only if it was one.
  public func askPasscode(
    _ question: Phrase, _ line: inout TypedLine, _ passcode: inout Passcode
  ) throws(Failure) -> Answer {
    passcode.wipe()
    defer { line.wipe() }
    return try askLine(question, &line) ? passcode.take(line) : .other
  }

  /// Asks for a line.
  ///
  /// - Returns: false if it was too long; it is empty then.
  public func askLine(_ question: Phrase, _ line: inout TypedLine) throws(Failure) -> Bool {
    switch ask(question.text, &line) {
    case .line: return true
    case .tooLong: return false
    case .endOfFile, .interrupted: throw .cancelled
    case .failed(.noTerminal): throw .noTerminal
    case .failed(let error): throw .unreadable(error)
    }
  }
}
