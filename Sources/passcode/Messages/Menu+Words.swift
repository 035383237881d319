internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

// The menu of `passcode` alone.

extension MenuChoice {
  static var question: Phrase { "Choose a number, or press Enter to quit: " }

  /// Said after a finger was enrolled, if no service offers the reader.
  static var notOffered: Phrase {
    """
    No PAM service offers the fingerprint yet: as root, add finger=yes to the
      line of pam_passcode.so in a file of /etc/pam.d. See pam_passcode(8).

    """
  }
}

extension Status {
  /// How it is set: "Passcode: on (6 digits) · Fingerprint: right index finger"
  func setting(_ finger: FingerReport?) -> Phrase {
    finger.map { "Passcode: \(passcodeSetting) · Fingerprint: \($0.summary)" as Phrase }
      ?? "Passcode: \(passcodeSetting)"
  }

  private var passcodeSetting: Phrase {
    switch state {
    case .corrupt: "damaged"
    case .disabled: "disabled"
    // Translators: the passcode is not set; after "Passcode: ", as "on" and the other states here.
    case .ok where !isEnrolled: "off"
    case .ok: length.map { "on (\($0) digits)" as Phrase } ?? "on"
    case .locked: "locked"
    case .exhausted: "locked out"
    case .expired: "expired"
    case .mustChange: "to be changed"
    case .paused: "paused"
    }
  }
}

extension MenuChoice.Title {
  var text: Phrase {
    switch self {
    case .enroll: "set a passcode"
    case .change: "change the passcode"
    case .unlock: "unlock the passcode"
    case .remove: "remove the passcode"
    case .test: "test the passcode"
    case .pause: "pause the passcode"
    case .resume: "end the pause with my password"
    case .forgotten: "I forgot it: set a new one with my password"
    case .addFinger: "enrol a fingerprint"
    case .testFinger: "test the fingerprint"
    case .removeFingers: "remove all enrolled fingerprints"
    }
  }
}
