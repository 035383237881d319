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
    "length":\(length.map { "\($0)" as Text } ?? "null"),"state":"\(stateName)","failures":\(failures),"seconds_left":\(wholeSeconds(state == .locked ? told.milliseconds : 0)),\
    "locked_until":\(jsonTime(lockedUntil)),"enrolled_at":\(jsonTime(enrolledAt)),\
    "last_success":\(jsonTime(lastSuccess)),"last_failure":\(jsonTime(lastFailure)),\
    "last_failure_service":\(failureService.isEmpty ? "null" : "\"\(failureService)\"" as Text),\
    "expires_at":\(jsonTime(expiresAt)),"must_change":\(mustChange ? "true" : "false" as Text)
    """
  }

  /// The names of the states, in the order of their numbers.
  public static var stateNames: Literal { "ok locked exhausted disabled corrupt expired must_change paused" }

  public var stateName: Text { Text(word(Int(state.rawValue), of: Status.stateNames)) }

  /// Whether the passcode was set, last used or last mistyped within so many seconds (`--since`).
  public func isRecent(within seconds: UInt64) -> Bool {
    let now = SystemClock.wallSeconds()
    return max(enrolledAt ?? 0, lastSuccess ?? 0, lastFailure ?? 0) >= now - min(seconds, now)
  }
}

private func jsonTime(_ seconds: UInt64?) -> Text {
  guard let seconds else { return "null" }
  return "\"\(SystemClock.rfc3339(seconds))\""
}
