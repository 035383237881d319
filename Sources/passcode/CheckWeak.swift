internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool
internal import PasscodeVault

/// `passcode check-weak`: judges candidates, for administrators who wonder and for scripts. It knows nobody: codes
/// that are weak because of whose they are aren't found here.
func runCheckWeak(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.anyVault()
  let surroundings = try reporting { () throws(Fault) in try vault.surroundings(nil) }
  var answers: Text = ""
  var lines = InputLines()
  while let line = lines.next() {
    let reason = reason(line, surroundings)
    answers += session.wantsJSON ? json(line, reason) : words(line, reason)
    if answers.bytes.count > 1 << 16 {
      guard Stream.output.write(answers) else { throw .unwritable }
      answers.removeAll()
    }
  }
  guard Stream.output.write(answers) else { throw .unwritable }
  return .done
}

/// nil: not weak.
private func reason(_ line: Bytes, _ surroundings: Surroundings) -> Phrase? {
  guard Answer(line.span) == .passcode else { return "not 4 or 6 digits" }
  return Weakness.of(line.span, in: surroundings).map { Phrase($0.sentence) }
}

private func json(_ line: Bytes, _ reason: Phrase?) -> Text {
  guard let reason else {
    return "{\"version\":1,\"passcode\":\"\(jsonEscaped(line))\",\"weak\":false,\"reason\":null}\n"
  }
  return "{\"version\":1,\"passcode\":\"\(jsonEscaped(line))\",\"weak\":true,\"reason\":\"\(reason)\"}\n"
}

private func words(_ line: Bytes, _ reason: Phrase?) -> Text {
  let judgement: Phrase = reason ?? "not weak"
  return "\(printable(line)): \(judgement)\n"
}
