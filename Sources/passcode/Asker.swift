internal import PasscodePolicy
internal import PasscodeSystem

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

  /// Asks, and leaves the answer in the secrets' field `line`.
  func ask(_ question: Text, _ secrets: inout Secrets) -> LineRead {
    switch self {
    case .terminal:
      guard let terminal = Terminal() else { return .failed(.noTerminal) }
      return secrets.readLine(from: terminal, prompt: question.bytes)
    case .input: return secrets.readLineFromInput()
    case .script(let script):
      guard let answer = script.next() else { return .endOfFile }
      secrets.write(.line) { line in
        for index in answer.indices where index < line.count { line[index] = answer[index] }
        return answer.count
      }
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

  /// Somebody is there to be asked again.
  var isPatient: Bool {
    if case .input = self { return false }
    return true
  }
}

extension Asker {
  /// Asks for one passcode into the field `code`.
  ///
  /// - Returns: what was typed; only `.passcode` is in the field.
  func askPasscode(_ question: Question, _ secrets: inout Secrets) throws(Failure) -> Answer {
    secrets.wipe(.code)
    guard try askLine(question, &secrets) else { return .other }
    let answer = secrets.read(.line) { Answer($0) }
    if answer == .passcode { secrets.copy(.line, to: .code) }
    secrets.wipe(.line)
    return answer
  }

  /// Asks for a line into the field `line`.
  ///
  /// - Returns: false if there was more than fits.
  func askLine(_ question: Question, _ secrets: inout Secrets) throws(Failure) -> Bool {
    switch ask(question.text, &secrets) {
    case .line: return true
    case .tooLong: return false
    case .endOfFile, .interrupted: throw .cancelled
    case .failed(.noTerminal): throw .noTerminal
    case .failed(let error): throw .unreadable(error)
    }
  }
}
