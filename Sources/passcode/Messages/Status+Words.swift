internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

extension Status {
  /// `USER             UID    LENGTH …`: the head of `list`, in columns as `row` has them.
  static var heading: Text { "USER             UID    LENGTH  FAILURES  STATE        LAST SUCCESS\n" }

  /// The report about one account, several lines.
  func words(_ store: Bytes) -> Text {
    let name = printable(account.name)
    guard state != .corrupt else {
      return
        "\(Fault(.damagedRecord, path: Text("\(store)/\(account.uid)").bytes, name: account.name).text)\n"
    }
    guard isEnrolled else {
      return state == .disabled
        ? "\(name): no passcode is set, and passcodes are disabled\n" : "\(name): no passcode is set\n"
    }
    var text = lengthWords
    text += "  state: \(stateWords)\n  failures since the last success: \(failures)\n"
    if let expiresAt { text += "  expires: \(SystemClock.localTime(expiresAt))\n" }
    if mustChange && state != .mustChange {
      text += "  must be changed: it opens one login, then works only for \"passcode change\"\n"
    }
    if let enrolledAt { text += "  set: \(SystemClock.localTime(enrolledAt))\n" }
    if let lastSuccess { text += "  last used: \(SystemClock.localTime(lastSuccess))\n" }
    if let lastFailure {
      let time = SystemClock.localTime(lastFailure)
      text +=
        failureService.isEmpty
        ? "  last wrong passcode: \(time)\n" : "  last wrong passcode: \(time), by \(failureService)\n"
    }
    return text
  }

  private var lengthWords: Text {
    let name = printable(account.name)
    guard let length else {
      return """
        \(name): a passcode is set
          it can't be checked; to see why, run as root: passcode key status

        """
    }
    return "\(name): a passcode is set, \(length) digits\n"
  }

  private var stateWords: Text {
    let name = printable(account.name)
    return switch state {
    case .ok: "ok"
    case .locked(let milliseconds): Remaining(milliseconds: milliseconds).locked
    case .exhausted: "locked out after too many failures; to unlock: passcode unlock \(name)"
    case .disabled: "disabled; to enable, run as root: passcode enable \(name)"
    case .corrupt: "damaged"
    case .expired: "expired; to set a new one: passcode enroll \(name)"
    case .mustChange: "must be changed; it opens nothing until then; run as \(name): passcode change"
    }
  }
}

extension Remaining {
  /// "locked, 3 minutes left"
  var locked: Text {
    switch (unit, count) {
    case (.seconds, 1): "locked, 1 second left"
    case (.seconds, let count): "locked, \(count) seconds left"
    case (.minutes, 1): "locked, 1 minute left"
    case (.minutes, let count): "locked, \(count) minutes left"
    case (.hours, let count): "locked, \(count) hours left"
    case (.days, let count): "locked, \(count) days left"
    }
  }
}
