internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// The story that `try --demo` plays, and checks: what must happen at each step is written beside it.
struct TryDemo {
  let bed: TryBed

  /// The title of a step of the demo.
  enum Title {
    case noPasscodeYet, enroll, right, letters, wrong, wrongAgain, thirdWrong, stillLocked, unlock,
      rightAgain, change
    case leadingZero, remove, noPasscodeAgain
  }

  /// What a login must come to.
  private struct Login {
    /// nil: the module must not even ask.
    let answer: Text?
    let succeeds: Bool
    let notice: Notice
  }

  /// The notice that a step must show.
  fileprivate enum Notice {
    case none
    case wrong(attemptsLeft: UInt32)
    /// For so many seconds at most, which pass while the story is played.
    case locked(seconds: ClosedRange<UInt64>)
  }

  private enum Step {
    case enroll(answers: [Text])
    case change(answers: [Text])
    case login(Login)
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

  private func story() -> [(Title, Step)] {
    [
      (.noPasscodeYet, .login(Login(answer: nil, succeeds: false, notice: .none))),
      (.enroll, .enroll(answers: ["8305", "8350", "8305", "8305"])),
      (.right, .login(Login(answer: "8305", succeeds: true, notice: .none))),
      (.letters, .login(Login(answer: "hello", succeeds: false, notice: .none))),
      (.wrong, .login(Login(answer: "5926", succeeds: false, notice: .wrong(attemptsLeft: 2)))),
      (
        .wrongAgain, .login(Login(answer: "6072", succeeds: false, notice: .wrong(attemptsLeft: 1)))
      ),
      (.thirdWrong, .login(Login(answer: "9481", succeeds: false, notice: .locked(seconds: 60...60)))),
      (.stillLocked, .login(Login(answer: nil, succeeds: false, notice: .locked(seconds: 1...60)))),
      (.unlock, .unlock),
      (.rightAgain, .login(Login(answer: "8305", succeeds: true, notice: .none))),
      (.change, .change(answers: ["8305", "047291", "047291"])),
      (.leadingZero, .login(Login(answer: "047291", succeeds: true, notice: .none))),
      (.remove, .remove),
      (.noPasscodeAgain, .login(Login(answer: nil, succeeds: false, notice: .none))),
    ]
  }

  private func play(_ step: Step) throws(Failure) -> Bool {
    let account = bed.account
    switch step {
    case .enroll(let answers): return try play(answers, isChange: false)
    case .change(let answers): return try play(answers, isChange: true)
    case .login(let login): return try play(login)
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

  private func play(_ login: Login) throws(Failure) -> Bool {
    try bed.logIn(Script(login.answer.map { [$0.bytes] } ?? []).asker) { outcome, record in
      guard outcome.isSuccess == login.succeeds, record.questions == (login.answer == nil ? 0 : 1) else {
        return false
      }
      return login.notice.isThatOf(record)
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
