internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What the program says to an administrator, in English only.
enum Words {
  static var usage: Bytes {
    Bytes(
      text: """
        Usage: passcode server COMMAND [USER] [OPTIONS]

        On a server of a fleet, for root; see passcode-verifier(8).

          init             make the fleet key, and this server's directory
          enroll USER      set a passcode (asked twice), or replace the old one
          invite USER      make a one-time code, with which USER sets a passcode on a workstation
          remove USER      remove the passcode, and a one-time code
          unlock USER      end a lock after too many failures
          disable USER     disable a passcode without removing it
          enable USER      enable a disabled passcode again
          status USER      say whether a passcode is set, and its state
          list             show everybody who has a passcode or a one-time code
          check            say what is wrong on this server, and what to do
          seen             record etcd's revision, and say what keeps this server from answering
          restored         declare that etcd was restored from a snapshot; to be run on each server

        Options:
          --stdin          enroll: read the passcode from standard input
          --generate       enroll: choose a random passcode and print it once
          --length 4|6     enroll: how many digits the new passcode must have
          --expires TIME   invite: how long the code is valid, such as 12h, 7d (the default) or 2w
          --withdraw       invite: delete the code instead
          --first          seen: this server is new, and etcd was not restored
          --workstation NAME   unlock, status: the wrong passcodes of a workstation, such as CN=ws1
          --batch FILE|-   do this for each user in a list; its lines are USER or USER:PASSCODE
          --output FILE    with --batch: append USER:PASSCODE or USER:CODE to this file
          --show           with --batch: show passcodes or codes on a terminal
          --skip-enrolled  enroll, with --batch: skip users who already have a passcode
          --json           status, list, check, --batch: one JSON object per line, for programs
          --quiet          print nothing on success
          --help, -h       this text
          --version        the version

        """)
  }

  static var notByHand: Text {
    "without a command, it answers a workstation over a connection; see passcode server --help"
  }
  static var initialized: Text {
    """
    /etc/passcode/fleet.key: created. Copy it to the other servers, keeping its owner and mode, but never to a \
    workstation. Keep a copy offline.
    """
  }
  static var restored: Text {
    """
    From now on each passcode is locked out until you unlock it (passcode server unlock USER) or its user uses a \
    new one-time code (passcode server invite USER). Run this command on the other servers, too.
    """
  }
  static var first: Bytes { Bytes(text: "New passcode: ") }
  static var second: Bytes { Bytes(text: "Repeat new passcode: ") }

  static func did(_ command: Command, _ name: Bytes, _ changed: Bool) -> Text {
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

  static func withdrawn(_ name: Bytes) -> Text { "One-time code withdrawn for \(printable(name))." }

  /// What an administrator reads below a new one-time code.
  static func invited(_ name: Bytes, _ seconds: UInt64, _ status: HelperStatus) -> Text {
    let name = printable(name)
    let start: Text =
      "this code is valid for \(time(seconds)), for \(name) only, who types it on a workstation after running: passcode enroll"
    return switch status.state {
    case .locked:
      "\(start); the passcode is locked: to use the code now, run: passcode server unlock \(name)"
    case .disabled:
      "\(start); the passcode is disabled: first run: passcode server enable \(name)"
    case .ok, .exhausted, .corrupt, .expired, .mustChange: start
    }
  }

  private static func state(_ status: HelperStatus) -> Text {
    let enrolled: Text = status.isEnrolled ? "" : "not enrolled"
    let comma: Text = status.isEnrolled ? "" : ", "
    return switch status.state {
    case .ok: status.isEnrolled ? "enrolled" : enrolled
    case .locked: "\(enrolled)\(comma)locked for \(wholeSeconds(status.milliseconds)) s"
    case .exhausted: "\(enrolled)\(comma)locked out until unlocked"
    case .disabled: status.isEnrolled ? "disabled" : "disabled, not enrolled"
    case .corrupt, .expired, .mustChange: "damaged"
    }
  }

  static func line(_ account: Bytes, _ status: HelperStatus, _ codeSeconds: UInt64?) -> Text {
    let code: Text = codeSeconds.map { ", one-time code: \(time($0)) left" } ?? ""
    return
      "\(printable(account)): \(state(status)), wrong passcodes in a row: \(UInt64(status.failures))\(code)\n"
  }

  static func line(_ workstation: Bytes, _ report: StationReport?) -> Text {
    let name = printable(workstation)
    guard let report else { return "\(name): no wrong passcodes in the last hour\n" }
    let stopped: Text =
      report.secondsStopped.map { "; no passcode is taken there for another \(time($0))" } ?? ""
    return "\(name): wrong passcodes in the last hour: \(report.failures) of \(StationCount.most)\(stopped)\n"
  }

  static func unlocked(_ workstation: Bytes, _ changed: Bool) -> Text {
    let name = printable(workstation)
    return changed ? "Workstation unlocked: \(name)." : "\(name) has no failed attempts to clear."
  }

  private static func time(_ seconds: UInt64) -> Text {
    let left = Remaining(milliseconds: seconds * 1_000)
    let unit: Text =
      switch left.unit {
      case .seconds: left.count == 1 ? "second" : "seconds"
      case .minutes: left.count == 1 ? "minute" : "minutes"
      case .hours: "hours"
      case .days: "days"
      }
    return "\(left.count) \(unit)"
  }
}

// MARK: - A batch

extension Words {
  /// `line 3: alice: too easy to guess: …`
  static func line(_ result: BatchResult, _ command: Command) -> Text {
    let name: Text = result.name.isEmpty ? "" : "\(printable(result.name)): "
    let reason: Text = result.reason.bytes.isEmpty ? "" : ": \(result.reason)"
    return "line \(result.line): \(name)\(outcome(result.outcome, command))\(reason)"
  }

  private static func outcome(_ outcome: BatchOutcome, _ command: Command) -> Text {
    switch outcome {
    case .done: command.event
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

  static func problem(_ problem: BatchLine.Problem) -> Text {
    switch problem {
    case .tooLong: "longer than 511 bytes"
    case .noUser: "does not begin with a user name"
    case .noPasscode: "no passcode: the line must be USER:PASSCODE"
    case .surplusPasscode: "the line must be a user name and nothing else"
    case .notDigits: "what follows the user name is not 4 or 6 digits"
    case .carriageReturn: "ends in a carriage return: convert the file with dos2unix"
    }
  }

  static func summary(_ counts: BatchCounts) -> Text {
    let unchanged: Text = counts.unchanged > 0 ? ", unchanged: \(counts.unchanged)" : ""
    let skipped: Text = counts.skipped > 0 ? ", skipped: \(counts.skipped)" : ""
    return "users: \(counts.all), done: \(counts.done)\(unchanged)\(skipped), failed: \(counts.failed)"
  }

  static func stopped(_ line: UInt64, _ skipsEnrolled: Bool) -> Text {
    skipsEnrolled
      ? "stopped after line \(line): run it again to do the rest"
      : "stopped after line \(line): the rest begins at line \(line + 1) (tail -n +\(line + 1))"
  }
}
