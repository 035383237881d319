internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// What the tool says is in this folder, in Failure.swift and in TryDemo.swift: each sentence one literal with its
// parameters, each number with its own plural. Faults, notices and reasons for weakness are `Words`, as for the module.

/// Says that there is no such thing, and what may have been meant.
func unknown(_ what: Phrase, _ suggestion: Text?) -> Phrase {
  guard let suggestion else { return "\(what): see passcode --help" }
  return "\(what): did you mean \(suggestion)? See passcode --help"
}

/// What an administrator types on a fleet's server.
func serverCommand(_ command: Text, _ name: Bytes) -> Text {
  "passcode server \(command) \(printable(name))"
}

extension Holder {
  func text(_ fault: Fault) -> Phrase {
    program.isEmpty
      ? "\(fault.words): process \(process) holds it; end that process, or let it finish, and try again"
      : "\(fault.words): process \(process) (\(printable(program))) holds it; end that process, or let it finish, and try again"
  }
}

extension Verdict {
  /// Why the verdict isn't `granted`; empty if it is.
  var text: Phrase {
    switch self {
    case .granted, .fingerGranted: ""
    case .fingerRefused, .wrong, .locked, .exhausted, .disabled, .expired, .mustChange,
      .notPermitted(.notAdministrators), .notPermitted(.workstation), .notPermitted(.paused),
      .notPermitted(.passwordDue), .notPermitted(.fingerNeeded):
      notice.map { Phrase($0) } ?? ""
    case .notEnrolled: "no passcode is set"
    case .notPermitted: Failure.notPermitted.text
    case .unavailable(let fault): fault.words
    }
  }
}

extension Fault {
  /// A note about something that works all the same, for standard error.
  var noteText: Phrase {
    let isOfAccount = reason.isNote && reason != .stuckSlots && reason != .endedHolder
    return isOfAccount ? Phrase("\(printable(name)): \(words)" as Text) : words
  }
}
