/// The terms of a passcode that an administrator gave out: when it expires, and whether it opens only one login.
///
/// MUST (attempt):
/// 13  A passcode that an administrator gave out with `--expires` opens nothing after that time: no login, no change. The wall
///     clock can end its validity, but can't bring it back: the latest time that was seen is kept, and within a boot
///     CLOCK_BOOTTIME counts on from there. The first process that sees the end, or that looks in another boot, writes that
///     to disk before it answers. With `--must-change` the passcode opens one login. That login is spent durably, in both
///     copies, before it is granted; if that can't be written, the attempt is `unavailable`. From then on the passcode works
///     only for a change, which is counted and locked like any other attempt.
///     TermsTests, TermsAttemptTests, test_terms.py, test_every_call.py
public struct Terms: Equatable, Sendable {
  /// Whether the owner must choose another passcode. What spends the one login: `Purpose`, `DirectLogin.settle`.
  public enum Change: Int, Equatable, Sendable, CaseIterable {
    case notNeeded
    /// The passcode must be changed after one login, which it has not opened yet.
    case afterLogin
    /// The passcode must be changed now: it has opened its one login.
    case needed
  }

  public var change: Change
  /// When it expires: seconds since 1970; 0: never.
  public let expiry: UInt64
  /// The latest time that was seen, seconds since 1970; 0 if it never expires.
  public let seenTime: UInt64
  /// When that time was seen; `Instant.never` if it never expires.
  public let seenAt: Instant

  public static let none = Terms(change: .notNeeded, expiry: 0, seenTime: 0, seenAt: .never)
}

extension Terms {
  /// Whether a finger may open it: only the passcode spends the one login that was given out.
  public var allowFinger: Bool { change == .notNeeded }

  /// What the terms say at one moment, and what must be written durably before this is reported or used; nil: nothing.
  func review(now: Instant, wall: UInt64) -> (isExpired: Bool, correction: Terms?) {
    guard expiry > 0 else { return (false, nil) }
    let seen = seen(now: now, wall: wall)
    let isExpired = seen.seenTime >= expiry
    let isNews = isExpired ? seenTime < expiry : !countsOn(to: now)
    return (isExpired, isNews ? seen : nil)
  }

  /// The terms with `seenTime` moved on to the earliest time that it can be now.
  ///
  /// - Parameter wall: seconds since 1970; ignored if it is behind what was seen.
  @inline(never)
  public func seen(now: Instant, wall: UInt64) -> Terms {
    guard expiry > 0 else { return self }
    let seconds = countsOn(to: now) ? (now.milliseconds - seenAt.milliseconds) / 1_000 : 0
    let counted = seenTime + min(seconds, .max - seenTime)
    guard countsOn(to: now), counted >= wall else {
      return Terms(change: change, expiry: expiry, seenTime: max(wall, counted), seenAt: now)
    }
    // Whole seconds: nothing is lost by looking often.
    let moment = Instant(boot: now.boot, milliseconds: seenAt.milliseconds + seconds * 1_000)
    return Terms(change: change, expiry: expiry, seenTime: counted, seenAt: moment)
  }

  @inline(never)
  private func countsOn(to now: Instant) -> Bool {
    seenAt.boot == now.boot && seenAt.milliseconds <= now.milliseconds
  }
}

extension Record {
  /// What terms and ledger say of a passcode at one moment.
  public struct Review: Equatable, Sendable {
    public let isExpired: Bool
    public let standing: Standing
    /// What must be written durably before any of this is reported or used; nil: nothing.
    public let correction: Record?

    /// What may be told while the correction can't be written.
    ///
    /// - Parameter record: the one that was reviewed.
    public func withoutNewExpiry(of record: Record) -> Review {
      let isNew = isExpired && correction.map { $0.terms != record.terms } ?? false
      return Review(isExpired: isExpired && !isNew, standing: standing, correction: correction)
    }
  }

  /// Decides what its terms and its ledger allow now. An attempt is allowed only where it isn't expired and `.open`.
  ///
  /// - Parameter wall: seconds since 1970.
  public func review(_ schedule: Schedule, now: Instant, wall: UInt64) -> Review {
    let terms = terms.review(now: now, wall: wall)
    let ledger = ledger.review(schedule, now: now)
    var corrected = self
    if let correction = terms.correction { corrected.terms = correction }
    if let correction = ledger.correction { corrected.ledger = correction }
    return Review(
      isExpired: terms.isExpired, standing: ledger.standing,
      correction: terms.correction == nil && ledger.correction == nil ? nil : corrected)
  }
}
