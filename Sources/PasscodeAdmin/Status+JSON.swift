public import PasscodePolicy
internal import PasscodeSystem

// The names are a contract (passcode-json(5)).

extension Status {
  /// What `list` tells of an account, without the braces. An account of a fleet has no uid.
  public var jsonFields: Text {
    """
    "version":1,"user":"\(jsonEscaped(account.name))","uid":\(orNull: account.uid == .max ? nil : UInt64(account.uid)),\
    "enrolled":\(isEnrolled),"length":\(orNull: length.map { UInt64($0) }),"state":"\(stateName)",\
    "failures":\(failures),"seconds_left":\(wholeSeconds(state == .locked ? told.milliseconds : 0)),\
    "locked_until":\(time: lockedUntil),"enrolled_at":\(time: enrolledAt),\
    "last_success":\(time: lastSuccess),"last_failure":\(time: lastFailure),\
    "last_failure_service":\(failureService.isEmpty ? "null" : "\"\(failureService)\"" as Text),\
    "expires_at":\(time: expiresAt),"must_change":\(mustChange)
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

// These make no Text of their own: `list` may have 100,000 accounts to write.
extension Text.Interpolation {
  fileprivate mutating func appendInterpolation(_ isTrue: Bool) {
    appendLiteral(isTrue ? "true" : "false")
  }

  fileprivate mutating func appendInterpolation(orNull number: UInt64?) {
    if let number { appendInterpolation(number) } else { appendLiteral("null") }
  }

  /// RFC 3339, or null.
  fileprivate mutating func appendInterpolation(time seconds: UInt64?) {
    guard let seconds else { return appendLiteral("null") }
    appendLiteral("\"")
    appendInterpolation(SystemClock.rfc3339(seconds))
    appendLiteral("\"")
  }
}
