internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

/// What `passcode try` says.
enum TrialMessage {
  case demoBegins
  case demoStep(UInt64, TryDemo.Title)
  case demoFailed(UInt64)
  case demoWorked(UInt64)
  case menuBegins
  case menuQuestion
  /// The remaining delay, printed over and over, so the line ends in blanks.
  case countdown(Remaining)
  case notLocked, unlocked, nothingToUnlock, removed, nothingToRemove
  case didNotAsk
  /// libpam's words for the result.
  case result(Bytes)
}

extension TrialMessage {
  var text: Phrase {
    switch self {
    case .demoBegins:
      """
      A temporary store, a private PAM service, the built module, the system's libpam.
      Nothing on this system is changed. Input that is normally hidden is shown here.
      """
    case .demoStep(let number, let title): "\(number). \(title.text)"
    case .demoFailed(let number): "Step \(number) failed."
    case .demoWorked(let number): "All \(number) steps worked."
    case .menuBegins:
      "This is a temporary store: nothing on this system changes. Logins go through the real module.\n"
    case .menuQuestion: "Your choice: "
    case .countdown(let left): Phrase("\r    \(back(left))   " as Text)
    case .notLocked: "    not locked"
    case .unlocked: "    unlocked"
    case .nothingToUnlock: "    nothing to unlock"
    case .removed: "    removed"
    case .nothingToRemove: "    nothing to remove"
    case .didNotAsk: "    (no prompt)"
    case .result(let text): "    PAM: \(text)"
    }
  }

  private func back(_ left: Remaining) -> Phrase { "\(left.locked) (Enter: back)" }
}

extension TryDemo.Title {
  /// The step's title, printed after its number.
  fileprivate var text: Phrase {
    switch self {
    case .noPasscodeYet: "log in: before there is a passcode"
    case .enroll: "passcode enroll: a mistake in the first repetition"
    case .right: "log in: the correct passcode"
    case .letters: "log in: letters are not an attempt"
    case .wrong: "log in: a wrong passcode"
    case .wrongAgain: "log in: another wrong passcode"
    case .thirdWrong: "log in: the third wrong passcode"
    case .stillLocked: "log in: a new process: still locked, and no prompt"
    case .unlock: "passcode unlock: by the administrator"
    case .rightAgain: "log in: the correct passcode again"
    case .change: "passcode change: to six digits"
    case .leadingZero: "log in: the new passcode, with its leading zero"
    case .remove: "passcode remove: back to the beginning"
    case .noPasscodeAgain: "log in: no passcode: the next module asks"
    }
  }
}

extension TryMenu.Title {
  var text: Phrase {
    switch self {
    case .enroll: "set a passcode"
    case .logIn: "log in, with the correct passcode or a wrong one"
    case .watch: "watch the lock count down"
    case .unlock: "unlock the passcode"
    case .change: "change the passcode"
    case .remove: "remove the passcode"
    case .quit: "quit and remove the store"
    }
  }
}
