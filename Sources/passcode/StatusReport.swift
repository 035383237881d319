internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Prints one account's status; the exit status says whether there is a passcode.
func report(_ status: Status, _ session: Session, store: Bytes) throws(Failure) -> ExitStatus {
  let text = session.wantsJSON ? status.json : status.words(store) + session.stackNotes()
  guard Stream.output.write(text) else { throw .unwritable }
  if status.state == .corrupt { return .unusable }
  return status.isEnrolled ? .done : .notEnrolled
}

// MARK: - JSON: the field names are a contract (passcode(1))

extension Status {
  var json: Text {
    """
    {"version":1,"user":"\(jsonEscaped(account.name))","uid":\(account.uid),"enrolled":\(isEnrolled ? "true" : "false" as Text),\
    "length":\(lengthText ?? "null"),"state":"\(stateName)","failures":\(failures),"seconds_left":\(secondsLeft),\
    "locked_until":\(jsonTime(lockedUntil)),"enrolled_at":\(jsonTime(enrolledAt)),\
    "last_success":\(jsonTime(lastSuccess)),"last_failure":\(jsonTime(lastFailure)),\
    "last_failure_service":\(failureService.isEmpty ? "null" : "\"\(failureService)\"" as Text)}

    """
  }

  private var lengthText: Text? {
    length.map { "\($0)" }
  }

  var stateName: Text {
    switch state {
    case .ok: "ok"
    case .locked: "locked"
    case .exhausted: "exhausted"
    case .disabled: "disabled"
    case .corrupt: "corrupt"
    }
  }

  static var stateNames: [Text] { ["ok", "locked", "exhausted", "disabled", "corrupt"] }

  /// Whether `--state` and `--since` mean it.
  func isAsked(_ session: Session) -> Bool {
    if let state = session.state, state != stateName.bytes { return false }
    guard let since = session.since else { return true }
    let last = max(enrolledAt ?? 0, lastSuccess ?? 0, lastFailure ?? 0)
    return last >= SystemClock.wallSeconds() - min(since, SystemClock.wallSeconds())
  }

  private var secondsLeft: UInt64 {
    guard case .locked(let milliseconds) = state else { return 0 }
    return wholeSeconds(milliseconds)
  }
}

private func jsonTime(_ seconds: UInt64?) -> Text {
  guard let seconds else { return "null" }
  return "\"\(SystemClock.rfc3339(seconds))\""
}

// MARK: - For people

extension Status {
  static var heading: Text { "USER             UID    LENGTH  FAILURES  STATE      LAST SUCCESS\n" }

  func row(isColoured: Bool) -> Text {
    var text = padded(Text(printable(account.name)), 17) + padded("\(account.uid)", 7)
    text += padded(lengthText ?? "-", 8) + padded("\(failures)", 10)
    let state = padded(stateName, 11)
    text += isColoured && self.state != .ok ? "\u{1b}[31m\(state)\u{1b}[0m" : state
    return text + "\(lastSuccess.map { SystemClock.rfc3339($0) } ?? Bytes(text: "-"))\n"
  }

  func words(_ store: Bytes) -> Text {
    let name = printable(account.name)
    guard state != .corrupt else {
      return """
        \(name): the record is damaged (\(printable(store))/\(account.uid)): restore it from a backup, \
        or run as root: passcode enroll \(name)

        """
    }
    guard isEnrolled else {
      return state == .disabled
        ? "\(name): no passcode is set (and disabled)\n" : "\(name): no passcode is set\n"
    }
    var text: Text = "\(name): a passcode is set"
    if let length { text += ", \(length) digits" }
    if length == nil { text += "\n  it can't be opened; to see why, run as root: passcode key status" }
    text += "\n  state: \(stateWords)\n  failures since the last success: \(failures)\n"
    if let enrolledAt { text += "  set: \(SystemClock.rfc3339(enrolledAt))\n" }
    if let lastSuccess { text += "  last used: \(SystemClock.rfc3339(lastSuccess))\n" }
    if let lastFailure {
      text += "  last wrong passcode: \(SystemClock.localMoment(lastFailure))"
      text += failureService.isEmpty ? "\n" : ", by \(failureService)\n"
    }
    return text
  }

  private var stateWords: Text {
    let name = printable(account.name)
    return switch state {
    case .ok: "ok"
    case .locked(let milliseconds): "locked, \(Words.remaining(milliseconds)) left"
    case .exhausted: "locked out after too many failures; to unlock: passcode unlock \(name)"
    case .disabled: "disabled; to enable, run as root: passcode enable \(name)"
    case .corrupt: "damaged"
    }
  }
}
