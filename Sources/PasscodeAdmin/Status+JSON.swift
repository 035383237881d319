public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

// The names are a contract (passcode-json(5)).

extension Status {
  /// What `list` tells of an account, without the braces. An account of a fleet has no uid.
  public var jsonFields: Text {
    """
    "version":1,"user":"\(jsonEscaped(account.name))","uid":\(account.uid == .max ? "null" : "\(account.uid)" as Text),\
    "enrolled":\(isEnrolled ? "true" : "false" as Text),\
    "length":\(length.map { "\($0)" as Text } ?? "null"),"state":"\(stateName)","failures":\(failures),"seconds_left":\(secondsLeft),\
    "locked_until":\(jsonTime(lockedUntil)),"enrolled_at":\(jsonTime(enrolledAt)),\
    "last_success":\(jsonTime(lastSuccess)),"last_failure":\(jsonTime(lastFailure)),\
    "last_failure_service":\(failureService.isEmpty ? "null" : "\"\(failureService)\"" as Text),\
    "expires_at":\(jsonTime(expiresAt)),"must_change":\(mustChange ? "true" : "false" as Text)
    """
  }

  public var stateName: Text {
    switch state {
    case .ok: "ok"
    case .locked: "locked"
    case .exhausted: "exhausted"
    case .disabled: "disabled"
    case .corrupt: "corrupt"
    case .expired: "expired"
    case .mustChange: "must_change"
    case .paused: "paused"
    }
  }

  /// Whether the passcode was set, last used or last mistyped within so many seconds (`--since`).
  public func isRecent(within seconds: UInt64) -> Bool {
    let now = SystemClock.wallSeconds()
    return max(enrolledAt ?? 0, lastSuccess ?? 0, lastFailure ?? 0) >= now - min(seconds, now)
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
