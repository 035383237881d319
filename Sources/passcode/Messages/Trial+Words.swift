internal import PasscodePolicy
internal import PasscodeTool

// What `passcode try` says.

extension Phrase {
  static var demoBegins: Phrase {
    """
    A temporary store, a private PAM service, the built module, the system's libpam.
    Nothing on this system is changed. Input that is normally hidden is shown here.
    """
  }

  static func demoStep(_ number: UInt64, _ title: Phrase) -> Phrase { "\(number). \(title)" }

  static func demoFailed(_ number: UInt64) -> Phrase { "Step \(number) failed." }

  static func demoWorked(_ number: UInt64) -> Phrase { "All \(number) steps worked." }

  static var menuBegins: Phrase {
    "This is a temporary store: nothing on this system changes. Logins go through the real module.\n"
  }

  static var quit: Phrase { "quit and remove the store" }

  static var menuQuestion: Phrase { "Your choice: " }

  /// The remaining delay, printed over and over, so the line ends in blanks.
  static func countdown(_ left: Remaining) -> Phrase { Phrase("\r    \(back(left))   " as Text) }

  static var notLocked: Phrase { "    not locked" }

  static var unlocked: Phrase { "    unlocked" }

  static var nothingToUnlock: Phrase { "    nothing to unlock" }

  static var removed: Phrase { "    removed" }

  static var nothingToRemove: Phrase { "    nothing to remove" }

  static var didNotAsk: Phrase { "    (no prompt)" }

  /// libpam's words for the result.
  static func result(_ text: Bytes) -> Phrase { "    PAM: \(text)" }

  private static func back(_ left: Remaining) -> Phrase { "\(left.locked) (Enter: back)" }
}

extension TryMenu.Choice {
  var text: Phrase {
    switch self {
    case .enroll: "set a passcode"
    case .logIn: "log in, with the correct passcode or a wrong one"
    case .watch: "watch the lock count down"
    case .unlock: "unlock the passcode"
    case .change: "change the passcode"
    case .remove: "remove the passcode"
    }
  }
}
