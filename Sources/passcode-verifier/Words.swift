internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

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

  /// A command of this program, as an administrator types it.
  static func command(_ command: Command, _ operand: Text = "") -> Text {
    operand.bytes.isEmpty ? "passcode server \(command.name)" : "passcode server \(command.name) \(operand)"
  }

  static func withdrawn(_ name: Bytes) -> Phrase { "One-time code withdrawn for \(printable(name))." }

  /// What an administrator reads below a new one-time code.
  static func invited(_ name: Bytes, _ seconds: UInt64, _ status: HelperStatus) -> Phrase {
    let name = printable(name)
    let valid: Phrase =
      "this code is valid for \(time(seconds)), for \(name) only, who types it on a workstation after running: \("passcode enroll" as Text)"
    return switch status.state {
    case .locked:
      "\(valid); the passcode is locked: to use the code now, run: \(command(.unlock, Text(name)))"
    case .disabled: "\(valid); the passcode is disabled: first run: \(command(.enable, Text(name)))"
    case .ok, .exhausted, .corrupt, .expired, .mustChange, .paused: valid
    }
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
    case .corrupt, .expired, .mustChange, .paused: "damaged"
    }
  }

  static func line(_ report: FleetReport) -> Phrase {
    let status = report.status
    let line: Phrase =
      "\(printable(report.account)): \(state(status)), wrong passcodes in a row: \(UInt64(status.failures))"
    guard let seconds = report.codeSeconds else { return line }
    return "\(line), one-time code: \(time(seconds)) left"
  }

  static func line(_ workstation: Bytes, _ report: StationReport?) -> Phrase {
    let name = printable(workstation)
    guard let report else { return "\(name): no wrong passcodes in the last hour" }
    let line: Phrase = "\(name): wrong passcodes in the last hour: \(report.failures) of \(report.limit)"
    if let seconds = report.secondsForOwners {
      return
        "\(line); for another \(time(seconds)), only people who used their passcode there in the last 30 days can use it"
    }
    guard let seconds = report.secondsStopped else { return line }
    return "\(line); no passcode is taken there for another \(time(seconds))"
  }

  static func unlocked(_ workstation: Bytes, _ changed: Bool) -> Phrase {
    let name = printable(workstation)
    return changed ? "Workstation unlocked: \(name)." : Act.unlocked.already(workstation)
  }

  static func alarm(_ count: UInt64) -> Phrase {
    "wrong passcodes were typed for \(count) accounts within an hour, and no correct ones since: somebody may be trying a few passcodes on many accounts; to see from which workstations, run on each server: \("journalctl -S -1h SYSLOG_FACILITY=10 -g \"passcode wrong\"" as Text)"
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
