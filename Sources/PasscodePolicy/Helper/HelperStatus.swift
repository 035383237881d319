/// What the helper tells of one's own passcode: the numbers of a `status` reply.
///
///     number 0    flags         bits 0-2: state; bit 3: enrolled; bits 4-6: length (0: not known); bit 7: it must be
///                               changed (now, or after one login); bit 8: too many touches at the fingerprint reader
///                               didn't match
///     number 1    failures      in a row
///     number 2    milliseconds  left, where locked
///     number 3    when it was set,
///     number 4    when it was last used, and
///     number 5    when the last wrong one was typed: seconds since 1970, 0: never
///     number 6    when it expires or expired: only in a `statusWithTerms`, which is sent for what a `status` can't say
///     text        the PAM service of the last wrong one (`Record.serviceName`)
public struct HelperStatus: Equatable, Sendable {
  public enum State: UInt64, Sendable {
    case ok = 0
    case locked = 1
    case exhausted = 2
    case disabled = 3
    case corrupt = 4
    /// The passcode has expired: it opens nothing any more, and can't be changed.
    case expired = 5
    /// The passcode's one login is over: it opens nothing until its owner changes it.
    case mustChange = 6
    /// The passcode opens nothing until the password is proven.
    case paused = 7
  }

  public var state: State
  public var isEnrolled: Bool
  /// 4 or 6; nil: not known.
  public var length: Int? = nil
  /// How many attempts in a row failed.
  public var failures: UInt32 = 0
  /// Left, where locked; else 0. At most `Schedule.longestDelay`.
  public var milliseconds: UInt64 = 0
  /// Wall clock, seconds since 1970; 0: never, or not known. So is the next.
  public var enrolledAt: UInt64 = 0
  public var lastSuccess: UInt64 = 0
  public var lastFailure: UInt64 = 0
  /// The PAM service of the last failure.
  public var failureService = Bytes()
  public var mustChange = false
  /// Wall clock, seconds since 1970; 0: never.
  public var expiresAt: UInt64 = 0
  /// No touch is believed until a passcode opens.
  public var isFingerOff = false

  public init(_ state: State, isEnrolled: Bool) {
    self.state = state
    self.isEnrolled = isEnrolled
  }

  /// What a record tells; length and milliseconds are to be added.
  package init(_ state: State, of record: Record) {
    self.init(state, isEnrolled: record.state != .removed)
    failures = record.ledger.failures
    enrolledAt = record.times.enrolled
    lastSuccess = record.times.success
    lastFailure = record.times.failure
    failureService = record.failureService
    mustChange = record.terms.change != .notNeeded
    expiresAt = record.terms.expiry
  }

  /// The helper's reply with this status.
  public var reply: HelperReply {
    let flags =
      state.rawValue | (isEnrolled ? 8 : 0) | UInt64(length ?? 0) << 4 | (mustChange ? 128 : 0)
      | (isFingerOff ? 256 : 0)
    let hasTerms =
      mustChange || expiresAt > 0 || isFingerOff || state.rawValue > State.corrupt.rawValue
    return HelperReply(
      hasTerms ? .statusWithTerms : .status,
      [flags, UInt64(failures), milliseconds, enrolledAt, lastSuccess, lastFailure, expiresAt],
      text: failureService)
  }
}
