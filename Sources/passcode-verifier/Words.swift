internal import PasscodePolicy

/// What the program says to an administrator.
enum Words {
  static var usage: Bytes {
    Bytes(
      text: """
        usage: passcode-verifier init | check | seen | restored | list | relay
               passcode-verifier enroll | remove | unlock | disable | enable | status USER

        Without an argument it answers one request on standard input; see passcode-verifier(8).

        """)
  }

  static func failed(_ fault: Text) -> Bytes { Text("passcode-verifier: \(fault)\n").bytes }
  static var needsRoot: Bytes { Bytes(text: "passcode-verifier: must be run as root\n") }
  static var noPasscode: Bytes { Bytes(text: "passcode-verifier: not enrolled\n") }
  static var notDigits: Bytes { Bytes(text: "passcode-verifier: a passcode has 4 or 6 digits\n") }
  static var mismatch: Bytes { Bytes(text: "passcode-verifier: the two entries differ\n") }
  static var refused: Bytes {
    Bytes(
      text:
        "passcode-verifier: this passcode may not be chosen: its length isn't allowed, or it is easy to guess\n"
    )
  }
  static var noServiceAccount: Bytes {
    Bytes(text: "passcode-verifier: there is no account _passcode: reinstall the package\n")
  }
  static var first: Bytes { Bytes(text: "New passcode: ") }
  static var second: Bytes { Bytes(text: "New passcode again: ") }

  static func state(_ status: HelperStatus) -> Text {
    guard status.isEnrolled else {
      return status.state == .disabled ? "disabled, not enrolled" : "not enrolled"
    }
    switch status.state {
    case .ok: return "enrolled"
    case .locked: return "locked for \(wholeSeconds(status.milliseconds)) s"
    case .exhausted: return "locked out until unlocked"
    case .disabled: return "disabled"
    case .corrupt, .expired, .mustChange: return "damaged"
    }
  }

  static func line(_ account: Bytes, _ status: HelperStatus) -> Bytes {
    Text("\(printable(account)): \(state(status)), wrong passcodes in a row: \(UInt64(status.failures))\n")
      .bytes
  }
}
