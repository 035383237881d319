internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// Where secrets come from: a terminal that doesn't show them, standard input, or a script (`try --demo`).
enum Asker {
  case terminal
  case input
  case script(Script)

  /// Answers given in advance; each question and its answer is printed.
  final class Script {
    private var answers: [Bytes]
    private(set) var asked = 0

    init(_ answers: [Bytes]) {
      self.answers = answers
    }

    fileprivate func next() -> Bytes? {
      asked += 1
      return answers.isEmpty ? nil : answers.removeFirst()
    }
  }

  /// Asks for a line.
  func ask(_ question: Text, _ line: inout TypedLine) -> LineRead {
    switch self {
    case .terminal:
      guard let terminal = Terminal() else { return .failed(.noTerminal) }
      return line.read(from: terminal, prompt: question.bytes)
    case .input: return line.readFromInput()
    case .script(let script):
      guard let answer = script.next() else { return .endOfFile }
      guard line.take(answer) else { return .tooLong }
      Stream.output.write("    \(question)\(answer)\n")
      return .line
    }
  }

  /// Tells the person at the terminal why the question comes again.
  func tell(_ text: Text) {
    switch self {
    case .terminal: Stream.error.write("\(text)\n")
    case .input: break
    case .script: Stream.output.write("    \(text)\n")
    }
  }

  /// Whether a person answers, who can be asked again.
  var isPatient: Bool {
    if case .input = self { return false }
    return true
  }
}

extension Asker {
  /// Asks for one passcode.
  ///
  /// - Parameter line: is wiped afterwards.
  /// - Returns: what was typed; there is a passcode only if it was one.
  func askPasscode(
    _ question: Question, _ line: inout TypedLine, _ passcode: inout Passcode
  ) throws(Failure) -> Answer {
    passcode.wipe()
    defer { line.wipe() }
    return try askLine(question, &line) ? passcode.take(line) : .other
  }

  /// Asks for a line.
  ///
  /// - Returns: false if it was too long; it is empty then.
  func askLine(_ question: Question, _ line: inout TypedLine) throws(Failure) -> Bool {
    switch ask(question.text.text, &line) {
    case .line: return true
    case .tooLong: return false
    case .endOfFile, .interrupted: throw .cancelled
    case .failed(.noTerminal): throw .noTerminal
    case .failed(let error): throw .unreadable(error)
    }
  }
}
