internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

/// What a check found, in words: Messages/Check+Words.swift has them all, a function each. A class, because it is passed on
/// and never changed.
final class CheckFinding {
  let level: CheckLevel
  let words: CheckWords

  private init(level: CheckLevel, words: CheckWords) {
    self.level = level
    self.words = words
  }

  @inline(never)
  static func fault(_ fault: Fault) -> CheckFinding {
    if let problem = fault.keyProblem {
      return CheckFinding(
        level: problem.isWarning ? .warning : .error,
        words: CheckWords(problem.advice(fault), path: fault.path))
    }
    let line = fault.reason.isOption ? fault.number : 0
    return CheckFinding(
      level: fault.reason.isNote ? .warning : .error,
      words: CheckWords(fault.advice, path: fault.path, line: line))
  }

  static func unread(_ unread: PAMUnread) -> CheckFinding {
    CheckFinding(level: .warning, words: CheckWords(unread.sentence, path: unread.path))
  }

  /// Fills in a finding's sentence: the path and its line, names, and a number.
  @inline(never)
  static func told(
    _ level: CheckLevel, _ pattern: Pattern, _ path: Bytes = [], _ line: Int = 0, name: Bytes = [],
    other: Bytes = [], number: UInt64 = 0
  ) -> CheckFinding {
    let shown = printable(path)
    let place = line > 0 ? Text("\(shown):\(line)").bytes : shown
    let advice = Advice(
      Sentence(pattern, number, [place, printable(name), printable(other)]), exact: [path, name, other],
      in: Catalogue.translation)
    return CheckFinding(level: level, words: CheckWords(advice, path: path, line: UInt64(max(0, line))))
  }
}

/// Why a check was left out.
enum CheckSkip {
  case needsRoot, otherConfiguration, badConfiguration
  /// The helper isn't asked: an error found before may be what keeps it from answering.
  case afterErrors
  /// Root can't ask: there is no account `nobody`, or no process can become it.
  case noNobody, notNobody
}
