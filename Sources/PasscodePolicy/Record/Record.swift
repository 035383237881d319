/// What is kept of one user: sealed credential and ledger together, so that one write changes everything or nothing.
public struct Record: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    /// The account has no passcode: it never had one, or its passcode was removed.
    case removed
    /// The credential as PasscodeVault seals it: nonce, ciphertext and tag.
    case enrolled(sealed: Bytes)
  }

  /// What proved the right to set or to unlock a passcode, in the order of the words in RecordLines.proof.
  public enum Proof: Int, Equatable, Sendable, CaseIterable {
    /// Nothing that is known: an older version wrote the record, or it is in a person's own store.
    case unknown
    /// The passcode was never unlocked since it was set. (Not for `enrolledBy`.)
    case nobody
    case root, password, passcode
  }

  /// Counts the writes; the valid copy with the higher one is the record.
  public var generation: UInt64 {
    get { box.fields.generation }
    set { change { $0.generation = newValue } }
  }
  public var uid: UInt32 { box.fields.uid }
  /// The account's name when this record was made or last enrolled; 1 to 255 bytes, no control characters.
  public var name: Bytes {
    get { box.fields.name }
    set { change { $0.name = newValue } }
  }
  public var state: State {
    get { box.fields.state }
    set { change { $0.state = newValue } }
  }
  /// Disabled by an administrator; survives removal and enrolment.
  public var disabled: Bool {
    get { box.fields.disabled }
    set { change { $0.disabled = newValue } }
  }
  /// Paused by its owner or by root until the password is proven; ends with the passcode.
  public var paused: Bool {
    get { box.fields.paused }
    set { change { $0.paused = newValue } }
  }
  /// Who set the passcode, kept when its owner changes it by the old one.
  public var enrolledBy: Proof {
    get { box.fields.enrolledBy }
    set { change { $0.enrolledBy = newValue } }
  }
  /// What proved the right to the last unlock since the passcode was set.
  public var unlockedBy: Proof {
    get { box.fields.unlockedBy }
    set { change { $0.unlockedBy = newValue } }
  }
  public var terms: Terms {
    get { box.fields.terms }
    set { change { $0.terms = newValue } }
  }
  public var ledger: Ledger {
    get { box.fields.ledger }
    set { change { $0.ledger = newValue } }
  }
  /// The PAM service of the last failure, as `serviceName` makes it; for people.
  public var failureService: Bytes {
    get { box.fields.failureService }
    set { change { $0.failureService = newValue } }
  }
  public var times: Times {
    get { box.fields.times }
    set { change { $0.times = newValue } }
  }
  /// In a store that several machines share: which charge is the last one; else empty.
  public var attemptID: Bytes {
    get { box.fields.attemptID }
    set { change { $0.attemptID = newValue } }
  }

  /// Seconds since 1970 by the wall clock, 0: never. For people to read: nothing is decided by them.
  public struct Times: Equatable, Sendable {
    public var enrolled: UInt64 = 0
    public var success: UInt64 = 0
    public var failure: UInt64 = 0
  }

  /// The values lie on the heap, and copies of a record share them: programs that copied 128 bytes at each step were
  /// 10 kB larger. A box never changes; a record that is changed gets a new one.
  struct Fields: Equatable, Sendable {
    var generation: UInt64
    var uid: UInt32
    var name: Bytes
    var state = State.removed
    var disabled = false
    var paused = false
    var enrolledBy = Proof.unknown
    var unlockedBy = Proof.nobody
    var terms = Terms.none
    var ledger = Ledger.clear
    var failureService = Bytes()
    var times = Times()
    var attemptID = Bytes()
  }

  private final class Box: Sendable {
    let fields: Fields

    @inline(never)
    init(_ fields: Fields) {
      self.fields = fields
    }
  }

  private var box: Box
  var fields: Fields { box.fields }

  @inline(never)
  init(_ fields: Fields) {
    box = Box(fields)
  }

  @inline(never)
  mutating func change(_ change: (inout Fields) -> Void) {
    var fields = box.fields
    change(&fields)
    box = Box(fields)
  }

  public static func == (one: Record, two: Record) -> Bool {
    one.box.fields == two.box.fields
  }

  /// Charges an attempt: a failure, until it turns out to be none.
  ///
  /// - Parameters:
  ///   - wall: seconds since 1970.
  ///   - service: a `serviceName`.
  @inline(never)
  public mutating func charge(at now: Instant, wall: UInt64, service: Bytes) {
    change {
      $0.ledger = $0.ledger.charged(at: now)
      $0.terms = $0.terms.seen(now: now, wall: wall)
      $0.times.failure = wall
      $0.failureService = service
    }
  }

  /// Takes the charge back, after a success.
  ///
  /// - Parameters:
  ///   - before: the record as it was before the charge.
  ///   - wall: seconds since 1970.
  ///   - spends: this was the one login of a passcode that must be changed.
  @inline(never)
  public mutating func settle(_ before: Record, wall: UInt64, spends: Bool) {
    let (failure, service) = (before.times.failure, before.failureService)
    change {
      $0.ledger = .clear
      $0.times.failure = failure
      $0.failureService = service
      $0.times.success = wall
      if spends { $0.terms.change = .needed }
    }
  }

  /// A record without a passcode, of the given generation.
  @inline(never)
  public init(uid: UInt32, name: Bytes, generation: UInt64) {
    self.init(Fields(generation: generation, uid: uid, name: name))
  }

  /// The wrong passcodes in a row, just before an attempt is charged.
  public var failedAttempts: FailedAttempts {
    FailedAttempts(count: ledger.failures, time: times.failure, service: failureService)
  }

  /// Only an administrator had a hand in it: what `second_factor` asks for.
  public var isAdministrators: Bool {
    enrolledBy == .root && (unlockedBy == .root || unlockedBy == .nobody)
  }

  /// A name that a record can keep: 1 to 255 bytes, none of them a control character.
  @inline(never)
  public static func canKeep(name: Bytes) -> Bool {
    (1...255).contains(name.count) && name.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  /// What is kept of a PAM service's name, which may come from anybody: its first 32 letters, digits and `-_.@+`.
  @inline(never)
  public static func serviceName(_ name: Bytes) -> Bytes {
    var kept = Bytes(room: longestService)
    for byte in name where isWordByte(byte, or: "-_.@+") && kept.count < longestService {
      kept.append(byte: byte)
    }
    return kept
  }

  /// Bytes.
  public static let longestService = 32
  /// Bytes.
  public static let attemptIDLength = 16
  /// The longest sealed credential that fits.
  public static let longestSealed = 256
}

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
