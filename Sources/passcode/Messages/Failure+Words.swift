internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// Everything that the tool says is in this folder: each sentence one literal with its parameters, each number with its
// own plural. Faults, notices and reasons for weakness are `Words`, as for the module.

extension Failure {
  /// One line for standard error: what, where, what to do.
  var text: Phrase {
    switch self {
    case .fault(let fault): fault.words
    case .held(let fault, let holder): holder.text(fault)
    case .refused(.length): "the configuration (lengths) doesn't allow that length; see passcode.conf(5)"
    case .refused(.weak(let weakness)): "too easy to guess: \(Phrase(weakness.sentence))"
    case .policyChanged: "no passcode was set: the configuration no longer allows it"
    case .badChoice(let problem): problem.text
    case .noneChosen: "no passcode was set"
    case .lengthNotAllowed(let length):
      "the configuration (lengths) doesn't allow passcodes of \(length) digits"
    case .noAttempt: "a passcode is 4 or 6 digits; nothing was counted"
    case .longPassword: "the password is too long; nothing was changed"
    case .wrongPassword: "wrong password; nothing was changed"
    case .passwordIsDigits:
      """
      your password is itself 4 or 6 digits: where one prompt takes both, it would count as a wrong passcode each \
      time and never be tried as the password. Change your password first, or ask root to enrol you
      """
    case .notEnrolled(let name): "no passcode is set for \(printable(name))"
    case .noDeletedAccount(let name):
      "there is no account \(printable(name)), nor a passcode of a deleted account of that name or number"
    case .noAccount(let name): "no account \(printable(name))"
    case .stillThere(let name):
      "there is still an account \(printable(name)): rename it first, with usermod -l"
    case .disabled: "disabled by the administrator: only an administrator can enable it again"
    case .onlyStatus: "disabled by the administrator; until it is enabled again, you can only see its status"
    case .otherPerson: "another user's passcode: only root can do that; run it with sudo"
    case .notPermitted: "another user's passcode: only that user and root can try it"
    case .onlyRoot: "only root can do that: run it with sudo"
    case .onlyRootUses(let option): "only root can use --\(option.entry.text)"
    case .selfServiceClosed:
      "only root can do that (self_enroll=no or second_factor=yes in the configuration)"
    case .notCode: "a one-time code is 8 letters, never I or O; nothing was counted"
    case .wrongCode: "wrong one-time code, which counts as a wrong passcode; no passcode was set"
    case .noCode(let name):
      "no one-time code is valid for \(printable(name)): it was used or withdrawn, or has expired; ask an administrator for a new one"
    case .fleets(let command, let name):
      "the servers of a fleet keep the passcode of \(printable(name)); on one of them, run as root: \(serverCommand(command, name))"
    case .fleetSilent(let name, let fault):
      "a fleet's servers keep the passcode of \(printable(name)), but could not be used: \(fault.words)"
    case .forbidden: "not permitted"
    case .cancelled: "cancelled; nothing was changed"
    case .trialEnded: "ended by a signal; the temporary store has been removed"
    case .loginEnded: "the login was ended by a signal"
    case .noModule: "pam_passcode.so is neither beside this program nor installed"
    case .noVerifier:
      "passcode-verifier is not installed. On a fleet's server, run: apt install passcode-verifier"
    case .noTemporaryDirectory: "no directory could be created in /tmp"
    case .noLibrary: "libsodium could not be initialised"
    case .noRandomPasscode:
      "could not generate a passcode that passes the weakness rules: is weak_list too long?"
    case .unwritable: "can't write to standard output"
    case .unwritablePasscode:
      "a passcode was set, but could not be written to standard output: enrol again"
    case .noTerminal: "there is no terminal to ask on: use --stdin"
    case .unreadable(let error): "standard input can't be read: \(error.localText)"
    case .unknownOption(let text): unknown("no option \(printable(text))" as Phrase, Suggestion.option(text))
    case .noValue(let option): "\(option) needs a value: see passcode --help"
    case .surplusValue(let option): "\(option) takes no value: see passcode --help"
    case .unknownCommand(let word):
      unknown("no command \"\(printable(word))\"" as Phrase, Suggestion.command(word))
    case .optionNeedsCommand(let option): "--\(option) needs a command: see passcode --help"
    case .notItsOption(let command, let option):
      "\(command) has no option --\(option): see passcode \(command) --help"
    case .operands(let command, let operand):
      "usage: passcode \(command)\(operand.text); see passcode \(command) --help"
    case .needsName:
      "whose passcode? For another user, run: \("passcode enroll USER" as Text); for root itself: \("passcode enroll root" as Text)"
    case .batch(let failure): failure.text
    case .confPath: "--conf needs an absolute path"
    case .lengthValue: "--length needs 4 or 6"
    case .pcrsValue: "--pcrs needs numbers from 0 to 23, with + between them"
    case .wrongRecoveryLine(let number): "line \(number) is not from a recovery copy; nothing was changed"
    case .expiresValue:
      "--expires needs a time like 90m, 12h, 7d or 2w, or a date like 2026-12-31 or 2026-12-31T18:00: a minute to ten years from now"
    }
  }
}

/// Says that there is no such thing, and what may have been meant.
private func unknown(_ what: Phrase, _ suggestion: Text?) -> Phrase {
  guard let suggestion else { return "\(what): see passcode --help" }
  return "\(what): did you mean \(suggestion)? See passcode --help"
}

/// What an administrator types on a fleet's server.
func serverCommand(_ command: Text, _ name: Bytes) -> Text {
  "passcode server \(command) \(printable(name))"
}

extension Holder {
  fileprivate func text(_ fault: Fault) -> Phrase {
    program.isEmpty
      ? "\(fault.words): process \(process) holds it; end that process, or let it finish, and try again"
      : "\(fault.words): process \(process) (\(printable(program))) holds it; end that process, or let it finish, and try again"
  }
}

extension PasscodeChoice.Problem {
  /// The failure as one sentence.
  var text: Phrase {
    switch self {
    case .length(.four): "A passcode is 4 digits."
    case .length(.six): "A passcode is 6 digits."
    case .length(.fourOrSix): "A passcode is 4 or 6 digits."
    case .weak(let weakness): "Too easy to guess: \(Phrase(weakness.sentence)). Choose another one."
    case .mismatch: "The passcodes do not match. Start again."
    }
  }
}

extension Verdict {
  /// Why the verdict isn't `granted`; empty if it is.
  var text: Phrase {
    switch self {
    case .granted, .fingerGranted: ""
    case .fingerRefused, .wrong, .locked, .exhausted, .disabled, .expired, .mustChange,
      .notPermitted(.notAdministrators):
      told ?? ""
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
