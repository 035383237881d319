internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

extension Status {
  /// The head of `list`: the titles of its columns, as wide as `row` has them.
  static var heading: Text {
    // Translators: the titles of columns, in capitals; at most 16, 6, 7, 9 and 12 columns wide, the last one any.
    let titles: [Phrase] = ["USER", "UID", "LENGTH", "FAILURES", "STATE", "LAST SUCCESS"]
    var text: Text = ""
    for index in widths.indices { text += padded(titles[index].text, widths[index]) }
    return text + titles[widths.count].text + "\n"
  }

  /// Columns of `list`, without the last.
  static var widths: [Int] { [17, 7, 8, 10, 13] }

  /// The report about one account, several lines.
  func words(_ store: Bytes) -> Text {
    guard state != .corrupt else {
      let path = Text("\(store)/\(account.uid)").bytes
      return "\(Fault(.damagedRecord, path: path, name: account.name).words)\n"
    }
    var text: Text = "\(firstLine)\n"
    if isFleets { text += line("kept by the servers of a fleet, for all of its machines") }
    guard isEnrolled else { return text }
    if length == nil && !isFleets {
      text += line("it can't be checked; to see why, run as root: passcode key status")
    }
    text += line("state: \(stateWords)")
    text += line("failures since the last success: \(failures)")
    if let expiresAt { text += line("expires: \(SystemClock.localTime(expiresAt))") }
    if mustChange && state != .mustChange {
      text += line("good for one login; after that it must be changed: passcode change")
    }
    // Translators: when the passcode was set.
    if let enrolledAt { text += line("set: \(SystemClock.localTime(enrolledAt))") }
    if let lastSuccess { text += line("last used: \(SystemClock.localTime(lastSuccess))") }
    if let lastFailure {
      let time = SystemClock.localTime(lastFailure)
      text += line(
        failureService.isEmpty
          ? "last wrong passcode: \(time)" : "last wrong passcode: \(time), by \(failureService)")
    }
    return text
  }

  private func line(_ phrase: Phrase) -> Text { "  \(phrase)\n" }

  private var firstLine: Phrase {
    let name = printable(account.name)
    guard isEnrolled else {
      return state == .disabled
        ? "\(name): no passcode is set, and passcodes are disabled" : "\(name): no passcode is set"
    }
    return length.map { "\(name): a passcode is set, \($0) digits" as Phrase } ?? "\(name): a passcode is set"
  }

  private var stateWords: Phrase {
    let name = printable(account.name)
    return switch state {
    // Translators: the state of a passcode that works; as the others, after "state: ".
    case .ok: "ok"
    case .locked: Remaining(milliseconds: told.milliseconds).locked
    case .exhausted where isFleets:
      "locked out after too many failures; to unlock, run as root on a server: \(serverCommand("unlock", account.name))"
    case .disabled where isFleets:
      "disabled; to enable, run as root on a server: \(serverCommand("enable", account.name))"
    case .exhausted: "locked out after too many failures; to unlock: passcode unlock \(name)"
    case .disabled: Status.disabled(account.name)
    case .corrupt: "damaged"
    case .expired: "expired; to set a new one: passcode enroll \(name)"
    case .mustChange: "must be changed and can't be used until then; run as \(name): passcode change"
    case .paused: Status.paused(account.name)
    }
  }

  static func disabled(_ name: Bytes) -> Phrase {
    "disabled; to enable, run as root: passcode enable \(printable(name))"
  }

  static func withoutPassword(_ name: Bytes) -> Phrase {
    "\(printable(name)) has no password: password_every and finger=both need one"
  }

  static func paused(_ name: Bytes) -> Phrase {
    "paused; to end the pause: passcode resume \(printable(name))"
  }
}

extension Remaining {
  /// "locked, 3 minutes left"
  var locked: Phrase {
    switch unit {
    case .seconds: Phrase(count, one: "locked, \(count) second left", other: "locked, \(count) seconds left")
    case .minutes: Phrase(count, one: "locked, \(count) minute left", other: "locked, \(count) minutes left")
    case .hours: Phrase(count, counted: "locked, \(count) hours left")
    case .days: Phrase(count, counted: "locked, \(count) days left")
    }
  }
}
