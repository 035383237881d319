internal import PasscodePolicy

// The menu of `passcode` alone.

extension MenuChoice {
  static var question: Text { "Your choice (Enter: nothing): " }
}

extension MenuChoice.Title {
  var text: Text {
    switch self {
    case .enroll: "set a passcode"
    case .change: "change the passcode"
    case .unlock: "unlock the passcode"
    case .remove: "remove the passcode"
    }
  }
}
