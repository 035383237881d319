internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// The story that `try --demo` plays, and checks: what must happen at each step is written beside it.
struct TryDemo {
  let bed: TryBed

  /// The notice that a step must show.
  fileprivate enum Notice {
    case none
    case wrong(attemptsLeft: UInt32)
    /// For so many seconds at most, which pass while the story is played.
    case locked(seconds: ClosedRange<UInt64>)
  }

  private enum Step {
    case enroll([Text])
    case change([Text])
    /// The answer to a login's prompt, and what the login must come to. nil: the module must not even ask.
    case login(Text?, succeeds: Bool, Notice = .none)
    case unlock
    case remove
  }

  /// - Returns: `wrong` if any step failed.
  func play() throws(Failure) -> ExitStatus {
    printLine(.demoBegins)
    var number: UInt64 = 0
    for (title, step) in story() {
      number += 1
      printLine(.demoStep(number, title))
      guard try play(step) else {
        printLine(.demoFailed(number))
        return .wrong
      }
    }
    printLine(.demoWorked(number))
    return .done
  }

  private func story() -> [(title: Phrase, Step)] {
    [
      ("log in: before there is a passcode", .login(nil, succeeds: false)),
      ("passcode enroll: a mistake in the first repetition", .enroll(["8305", "8350", "8305", "8305"])),
      ("log in: the correct passcode", .login("8305", succeeds: true)),
      ("log in: letters are not an attempt", .login("hello", succeeds: false)),
      ("log in: a wrong passcode", .login("5926", succeeds: false, .wrong(attemptsLeft: 2))),
      ("log in: another wrong passcode", .login("6072", succeeds: false, .wrong(attemptsLeft: 1))),
      ("log in: the third wrong passcode", .login("9481", succeeds: false, .locked(seconds: 60...60))),
      (
        "log in: a new process: still locked, and no prompt",
        .login(nil, succeeds: false, .locked(seconds: 1...60))
      ),
      ("passcode unlock: by the administrator", .unlock),
      ("log in: the correct passcode again", .login("8305", succeeds: true)),
      ("passcode change: to six digits", .change(["8305", "047291", "047291"])),
      ("log in: the new passcode, with its leading zero", .login("047291", succeeds: true)),
      ("passcode remove: back to the beginning", .remove),
      ("log in: no passcode: the next module asks", .login(nil, succeeds: false)),
    ]
  }

  private func play(_ step: Step) throws(Failure) -> Bool {
    let account = bed.account
    switch step {
    case .enroll(let answers): return try play(answers, isChange: false)
    case .change(let answers): return try play(answers, isChange: true)
    case .login(let answer, let succeeds, let notice): return try play(answer, succeeds, notice)
    case .unlock:
      return try reporting { () throws(Fault) in try bed.vault.unlock(account, by: .direct) } == true
    case .remove:
      return try reporting { () throws(Fault) in try bed.vault.remove(account) }
    }
  }

  /// Runs a command with scripted answers, of which it must take each.
  private func play(_ answers: [Text], isChange: Bool) throws(Failure) -> Bool {
    let script = Script(answers.map { $0.bytes })
    let direct = bed.direct
    direct.session.asker = script.asker
    let status = isChange ? try direct.change() : try direct.enroll()
    return status == .done && script.asked == answers.count
  }

  private func play(_ answer: Text?, _ succeeds: Bool, _ notice: Notice) throws(Failure) -> Bool {
    try bed.logIn(Script(answer.map { [$0.bytes] } ?? []).asker) { outcome, record in
      outcome.isSuccess == succeeds && record.questions == (answer == nil ? 0 : 1) && notice.isThatOf(record)
    }
  }
}

/// Answers given in advance; each question and its answer is printed.
private final class Script {
  private var answers: [Bytes]
  private(set) var asked = 0

  init(_ answers: [Bytes]) {
    self.answers = answers
  }

  var asker: Asker {
    .script(
      Asker.Script(
        answer: { [self] question, line in answer(question, &line) },
        hear: { Stream.output.write("    \($0)\n") }))
  }

  private func answer(_ question: Text, _ line: inout TypedLine) -> LineRead {
    asked += 1
    guard !answers.isEmpty else { return .endOfFile }
    let answer = answers.removeFirst()
    guard line.take(answer) else { return .tooLong }
    Stream.output.write("    \(question)\(answer)\n")
    return .line
  }
}

extension TryDemo.Notice {
  /// Whether a login showed this notice, in any language.
  fileprivate func isThatOf(_ record: LoginRecord) -> Bool {
    switch self {
    case .none: record.notices.isEmpty
    case .wrong(let left): record.hasOnly(.wrong(.open(attemptsLeft: left), failures: 1))
    case .locked(let seconds):
      seconds.contains { record.hasOnly(.locked(milliseconds: $0 * 1_000, failures: 1)) }
    }
  }
}

extension LoginRecord {
  /// The notice of this verdict, and no other one.
  fileprivate func hasOnly(_ verdict: Verdict) -> Bool {
    notices.count == 1 && notices[0] == verdict.notice?.bytes
  }
}
