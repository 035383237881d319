internal import PasscodePolicy
internal import PasscodeSystem

/// What was done with somebody's passcode: in the words of the log, and of the person who did it.
enum Act {
  case enrolled, changed, removed, unlocked, disabled, enabled

  /// As the log has it.
  var event: Text {
    switch self {
    case .enrolled: "passcode enrolled"
    case .changed: "passcode changed"
    case .removed: "passcode removed"
    case .unlocked: "passcode unlocked"
    case .disabled: "passcode disabled"
    case .enabled: "passcode enabled"
    }
  }

  fileprivate var word: Text {
    switch self {
    case .enrolled: "set"
    case .changed: "changed"
    case .removed: "removed"
    case .unlocked: "unlocked"
    case .disabled: "disabled"
    case .enabled: "enabled"
    }
  }
}

extension Session {
  /// Words about something that worked.
  func say(_ text: Text) {
    if !isQuiet { printLine(text) }
  }

  /// What somebody else may have tried, once the right passcode was typed.
  func sayEarlierFailures(_ verdict: Verdict) {
    guard verdict.isGranted, let notice = Words.notice(verdict, when: SystemClock.localMoment) else { return }
    complain(notice)
  }

  func say(_ act: Act, _ account: Account, already: Bool = false) {
    let adverb: Text = already ? "already " : ""
    say("Passcode \(adverb)\(act.word) for \(printable(account.name)).")
  }

  func sayUnlocked(_ hadFailures: Bool, _ account: Account) {
    if hadFailures {
      say(.unlocked, account)
    } else {
      say("There were no failures to reset for \(printable(account.name)).")
    }
  }

  /// Notes an administrative act in the system's log, with who really did it.
  func note(_ act: Act, _ account: Account) {
    guard !isTrial else { return }
    var line = LogLine(act.event)
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    line.add("by_uid", UInt64(process.real))
    line.add("loginuid", ProcessIdentity.loginUID())
    line.add("sudo_user", environment("SUDO_USER"))
    SystemLog.notice(line.text)
  }
}
