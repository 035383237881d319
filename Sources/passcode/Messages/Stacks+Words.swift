internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

// What `status` says about PAM service files. Each ends in a newline, but for the one that is to be wrapped.

extension PAMReport {
  /// One that couldn't be read may ask.
  var nobodyAsks: Phrase {
    guard unknown.isEmpty else { return "None of the other PAM services asks for the passcode.\n" }
    return """
      No PAM service asks for the passcode.
      To enable it for all services, run as root: pam-auth-update --enable passcode

      """
  }

  /// - Parameter services: `login, su (common-auth); swaylock`
  func whoAsks(_ services: Text) -> Phrase {
    "Asked for by: \(services)."
  }
}

extension PAMFinding {
  var text: Phrase {
    let place: Text = "\(printable(path)):\(line)"
    return switch problem {
    case .option(let fault): Phrase("\(fault.words)\n" as Text)
    case .unmarkedSecondFactor:
      """
      \(place): both password and passcode are required here, but anyone
        who knew the password alone could have set the passcode:
        add second_factor (see pam_passcode(8)).

      """
    case .noWayToThePassword:
      """
      \(place): auth_err=die without either: after a wrong passcode
        the password isn't asked for. Add either, or remove auth_err=die.

      """
    }
  }
}

extension PAMUnread {
  var text: Text { "\(sentence)\n" }

  var sentence: Phrase {
    let path = printable(path)
    return switch reason {
    case .failed(let error): "Not checked: \(path): \(Errno(error).localText)"
    case .tooLarge: "Not checked: \(path): larger than 64 KiB"
    case .tooManyFiles: "Not checked: \(path): too many files"
    case .tooDeep: "Not checked: \(path): includes itself, or is nested too deeply for libpam"
    case .tooManyLines(let most):
      "Not checked: \(path): more than \(most) lines, counting the files that it includes"
    }
  }
}
