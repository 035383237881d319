internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// What the program says to an administrator, in the language of the environment. Help+Words.swift has the help.
enum Words {
  /// For a caller that is neither a workstation nor an administrator; in English.
  static var notByHand: Text {
    "without a command it answers a workstation over a connection: see passcode server --help"
  }

  static var initialized: Phrase {
    """
    \(FleetKey.usualPath): created. Copy it to the other servers, keeping its owner and mode, but never to a workstation. \
    Keep a copy offline.
    """
  }

  static var restored: Phrase {
    """
    From now on each passcode is locked out until you unlock it (\(command(.unlock, "USER"))) or its user uses a new \
    one-time code (\(command(.invite, "USER"))). Run this command on the other servers, too.
    """
  }

  static var first: Phrase { "New passcode: " }
  static var second: Phrase { "Repeat new passcode: " }

  /// A command of this program, as an administrator types it.
  static func command(_ command: Command, _ operand: Text = "") -> Text {
    operand.bytes.isEmpty ? "passcode server \(command.name)" : "passcode server \(command.name) \(operand)"
  }

  static func did(_ command: Command, _ name: Bytes, _ changed: Bool) -> Phrase {
    let name = printable(name)
    return switch command {
    case .unlock where !changed: "\(name) has no failed attempts to clear."
    case .disable where !changed: "Passcode already disabled for \(name)."
    case .enable where !changed: "Passcode already enabled for \(name)."
    case .enroll: "Passcode set for \(name)."
    case .remove: "Passcode removed for \(name)."
    case .unlock: "Passcode unlocked for \(name)."
    case .disable: "Passcode disabled for \(name)."
    case .enable: "Passcode enabled for \(name)."
    case .initialize, .restored, .seen, .check, .list, .status, .invite: ""
    }
  }

  static func withdrawn(_ name: Bytes) -> Phrase { "One-time code withdrawn for \(printable(name))." }

  /// What an administrator reads below a new one-time code.
  static func invited(_ name: Bytes, _ seconds: UInt64, _ status: HelperStatus) -> Phrase {
    let name = printable(name)
    let valid = valid(name, seconds)
    return switch status.state {
    case .locked:
      "\(valid); the passcode is locked: to use the code now, run: \(command(.unlock, Text(name)))"
    case .disabled: "\(valid); the passcode is disabled: first run: \(command(.enable, Text(name)))"
    case .ok, .exhausted, .corrupt, .expired, .mustChange: valid
    }
  }

  private static func valid(_ name: Bytes, _ seconds: UInt64) -> Phrase {
    "this code is valid for \(time(seconds)), for \(name) only, who types it on a workstation after running: \("passcode enroll" as Text)"
  }

  private static func state(_ status: HelperStatus) -> Phrase {
    switch status.state {
    case .ok where status.isEnrolled: "enrolled"
    case .ok: "not enrolled"
    case .locked where status.isEnrolled: "locked for \(wholeSeconds(status.milliseconds)) s"
    case .locked: "not enrolled, locked for \(wholeSeconds(status.milliseconds)) s"
    case .exhausted where status.isEnrolled: "locked out until unlocked"
    case .exhausted: "not enrolled, locked out until unlocked"
    case .disabled where status.isEnrolled: "disabled"
    case .disabled: "disabled, not enrolled"
    case .corrupt, .expired, .mustChange: "damaged"
    }
  }

  static func line(_ account: Bytes, _ status: HelperStatus, _ codeSeconds: UInt64?) -> Text {
    let line = line(account, status)
    return codeSeconds.map { "\(withCode(line, $0))\n" } ?? "\(line)\n"
  }

  private static func line(_ account: Bytes, _ status: HelperStatus) -> Phrase {
    "\(printable(account)): \(state(status)), wrong passcodes in a row: \(UInt64(status.failures))"
  }

  private static func withCode(_ line: Phrase, _ seconds: UInt64) -> Phrase {
    "\(line), one-time code: \(time(seconds)) left"
  }

  static func line(_ workstation: Bytes, _ report: StationReport?) -> Text {
    let name = printable(workstation)
    guard let report else { return "\(noneWrong(name))\n" }
    let line = wrong(name, report)
    return report.secondsStopped.map { "\(stopped(line, $0))\n" } ?? "\(line)\n"
  }

  private static func noneWrong(_ name: Bytes) -> Phrase { "\(name): no wrong passcodes in the last hour" }

  private static func wrong(_ name: Bytes, _ report: StationReport) -> Phrase {
    "\(name): wrong passcodes in the last hour: \(report.failures) of \(StationCount.most)"
  }

  private static func stopped(_ line: Phrase, _ seconds: UInt64) -> Phrase {
    "\(line); no passcode is taken there for another \(time(seconds))"
  }

  static func unlocked(_ workstation: Bytes, _ changed: Bool) -> Phrase {
    let name = printable(workstation)
    return changed ? "Workstation unlocked: \(name)." : "\(name) has no failed attempts to clear."
  }

  private static func time(_ seconds: UInt64) -> Phrase {
    let left = Remaining(milliseconds: seconds * 1_000)
    let count = left.count
    return switch left.unit {
    case .seconds: Phrase(count, one: "\(count) second", other: "\(count) seconds")
    case .minutes: Phrase(count, one: "\(count) minute", other: "\(count) minutes")
    case .hours: Phrase(count, counted: "\(count) hours")
    case .days: Phrase(count, counted: "\(count) days")
    }
  }
}

// MARK: - A batch

extension Words {
  /// `line 3: alice: too easy to guess: …`
  static func line(_ result: BatchResult, _ command: Command) -> Phrase {
    var what: Text = result.name.isEmpty ? "" : "\(printable(result.name)): "
    what += outcome(result.outcome, command).text
    if !result.reason.bytes.isEmpty { what += ": \(result.reason)" }
    return "line \(result.line): \(what)"
  }

  private static func outcome(_ outcome: BatchOutcome, _ command: Command) -> Phrase {
    switch outcome {
    case .done: done(command)
    case .unchanged: "nothing to change"
    case .skipped: "already has a passcode"
    case .notEnrolled: "no passcode is set"
    case .weak: "too easy to guess"
    case .wrongLength: "the configuration (lengths) doesn't allow that length"
    case .unknownUser: "unknown user"
    case .repeated: "an earlier line names the same user"
    case .badLine: "bad line"
    case .failed: "failed"
    }
  }

  private static func done(_ command: Command) -> Phrase {
    switch command {
    case .enroll: "passcode enrolled"
    case .invite: "one-time code created"
    case .remove: "passcode removed"
    case .unlock: "passcode unlocked"
    case .disable: "passcode disabled"
    case .enable: "passcode enabled"
    case .initialize, .restored, .seen, .check, .list, .status: ""
    }
  }

  static func problem(_ problem: BatchLine.Problem) -> Phrase {
    switch problem {
    case .tooLong: "longer than 511 bytes"
    case .noUser: "does not begin with a user name"
    case .noPasscode: "no passcode: the line must be USER:PASSCODE"
    case .surplusPasscode: "the line must be a user name and nothing else"
    case .notDigits: "what follows the user name is not 4 or 6 digits"
    case .carriageReturn: "ends in a carriage return: convert the file with dos2unix"
    }
  }

  static func summary(_ counts: BatchCounts) -> Phrase {
    var text: Phrase = "users: \(counts.all), done: \(counts.done)"
    if counts.unchanged > 0 { text = "\(text), unchanged: \(counts.unchanged)" }
    if counts.skipped > 0 { text = "\(text), skipped: \(counts.skipped)" }
    return "\(text), failed: \(counts.failed)"
  }

  static func stopped(_ line: UInt64, _ skipsEnrolled: Bool) -> Phrase {
    skipsEnrolled
      ? "stopped after line \(line): run it again to do the rest"
      : "stopped after line \(line): the rest begins at line \(line + 1) (tail -n +\(line + 1))"
  }
}
