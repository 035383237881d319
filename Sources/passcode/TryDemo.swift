internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// The story that `try --demo` plays, and checks: what must happen at each step is written beside it.
struct TryDemo {
  let bed: TryBed

  /// What a login must come to.
  private struct Login {
    let title: Text
    /// nil: the module must not even ask.
    let answer: Text?
    let succeeds: Bool
    /// The one notice there must be, up to where time makes a difference; nil: none.
    let notice: Text?
  }

  private enum Step {
    case enroll(Text, answers: [Text])
    case change(Text, answers: [Text])
    case login(Login)
    case unlock(Text)
    case remove(Text)
  }

  /// - Returns: `wrong` if any step failed.
  func play() throws(Failure) -> ExitStatus {
    printLine("A throw-away store, a private PAM service, the built module, the system's libpam.")
    printLine("Nothing on this system is changed. What would be hidden is shown here.")
    var number: UInt64 = 0
    for step in story() {
      number += 1
      guard try play(step, number) else {
        printLine("Step \(number) did not go as it should.")
        return .wrong
      }
    }
    printLine("All \(number) steps went as they should.")
    return .done
  }

  private func story() -> [Step] {
    [
      .login(Login(title: "before there is a passcode", answer: nil, succeeds: false, notice: nil)),
      .enroll("the two differ at first", answers: ["8305", "8350", "8305", "8305"]),
      .login(Login(title: "the right passcode", answer: "8305", succeeds: true, notice: nil)),
      .login(Login(title: "letters are no attempt", answer: "hello", succeeds: false, notice: nil)),
      .login(
        Login(
          title: "a wrong one", answer: "5926", succeeds: false, notice: "Wrong passcode, 2 attempts left.")),
      .login(
        Login(
          title: "another wrong one", answer: "6072", succeeds: false,
          notice: "Wrong passcode, 1 attempt left.")),
      .login(
        Login(
          title: "the third wrong one", answer: "9481", succeeds: false, notice: "Passcode locked (1 minute")),
      .login(
        Login(
          title: "a new process: still locked, and it doesn't even ask", answer: nil, succeeds: false,
          notice: "Passcode locked (")),
      .unlock("by the administrator"),
      .login(Login(title: "the right one again", answer: "8305", succeeds: true, notice: nil)),
      .change("to six digits", answers: ["8305", "047291", "047291"]),
      .login(
        Login(title: "the new one, with its leading zero", answer: "047291", succeeds: true, notice: nil)),
      .remove("and it is as before"),
      .login(Login(title: "no passcode: the next module's turn", answer: nil, succeeds: false, notice: nil)),
    ]
  }

  private func play(_ step: Step, _ number: UInt64) throws(Failure) -> Bool {
    let account = bed.account
    switch step {
    case .enroll(let title, let answers):
      printLine("\(number). passcode enroll: \(title)")
      return try play(answers, isChange: false)
    case .change(let title, let answers):
      printLine("\(number). passcode change: \(title)")
      return try play(answers, isChange: true)
    case .login(let login):
      printLine("\(number). log in: \(login.title)")
      return try play(login)
    case .unlock(let title):
      printLine("\(number). passcode unlock: \(title)")
      return try reporting { () throws(Fault) in try bed.vault.unlock(account, by: .direct) } == true
    case .remove(let title):
      printLine("\(number). passcode remove: \(title)")
      return try reporting { () throws(Fault) in try bed.vault.remove(account, by: .direct) }
    }
  }

  /// The command must take these answers, all of them.
  private func play(_ answers: [Text], isChange: Bool) throws(Failure) -> Bool {
    let script = Asker.Script(answers.map { $0.bytes })
    let direct = bed.direct
    direct.session.asker = .script(script)
    let status = isChange ? try direct.change() : try direct.enroll()
    return status == .done && script.asked == answers.count
  }

  private func play(_ login: Login) throws(Failure) -> Bool {
    try bed.logIn(.script(Asker.Script(login.answer.map { [$0.bytes] } ?? []))) { outcome, record in
      guard outcome.isSuccess == login.succeeds, record.questions == (login.answer == nil ? 0 : 1) else {
        return false
      }
      guard let notice = login.notice else { return record.notices.isEmpty }
      return record.notices.count == 1 && record.notices[0].starts(with: notice.bytes)
    }
  }
}
