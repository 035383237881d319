public import PasscodePolicy
public import PasscodeSystem

/// What is known of one account's passcode. Nothing in it is secret from root.
public struct Status: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    case ok
    case locked(milliseconds: UInt64)
    case exhausted, disabled, corrupt
    /// The passcode has expired: it opens nothing any more, and can't be changed.
    case expired
    /// The passcode's one login is over: it opens nothing until its owner changes it.
    case mustChange
    /// The passcode opens nothing until the password is proven.
    case paused
  }

  public let account: Account
  public let isEnrolled: Bool
  /// Digits; nil where not enrolled, or where it can't be opened (no key, another key).
  public let length: Int?
  public let state: State
  /// Consecutive failures.
  public let failures: UInt32
  /// Wall clock, seconds since 1970; nil: never.
  public let lockedUntil: UInt64?
  public let enrolledAt: UInt64?
  public let lastSuccess: UInt64?
  public let lastFailure: UInt64?
  /// The PAM service of the last failure; empty: not known.
  public let failureService: Bytes
  /// Whether the passcode must be changed, now or after its one login.
  public let mustChange: Bool
  /// When it expires or expired: wall clock, seconds since 1970; nil: never.
  public let expiresAt: UInt64?
  /// Too many touches in a row didn't match; only `Vault.status` asks for it.
  public var isFingerOff = false
  /// A fleet's servers keep the passcode, and have said this.
  public var isFleets = false
}

/// The machine key for as many records as are asked about; where there is none, lengths aren't told.
package struct LengthReader: ~Copyable {
  private var secrets: Secrets?

  package init(_ vault: Vault) {
    guard var secrets = Secrets(vault.sodium),
      (try? MachineKey(configuration: vault.configuration).load(&secrets.unsealed.key)) != nil
    else { return }
    self.secrets = consume secrets
  }

  package mutating func lockAgain() {
    guard var secrets = secrets.take() else { return }
    secrets.lockAgain()
    self.secrets = consume secrets
  }

  mutating func length(_ record: Record, _ vault: Vault) -> Int? {
    guard var secrets = secrets.take() else { return nil }
    let digits = (try? vault.openCredential(record, &secrets.unsealed))?.digits
    self.secrets = consume secrets
    return digits
  }
}

extension Vault {
  /// For root, the account itself through the helper, or a person's own store.
  public func status(_ account: Account) throws(Fault) -> Status {
    var status = try statusOfPasscode(account)
    if configuration.isUsual { status.isFingerOff = TouchCounter(account, configuration.access).isOff }
    return status
  }

  private func statusOfPasscode(_ account: Account) throws(Fault) -> Status {
    let store = try Store.open(configuration)
    guard let reading = try read(store, account.uid) else { return Status(account, .ok) }
    guard let record = reading.record else { return Status(account, .corrupt) }
    guard record.state != .removed, try isSameAccount(record, account) else {
      return Status(account, record.disabled && record.name == account.name ? .disabled : .ok)
    }
    var lengths = LengthReader(self)
    return try status(account, record, &lengths)
  }

  /// The status of an account with a passcode.
  package func status(
    _ account: Account, _ record: Record, _ lengths: inout LengthReader
  ) throws(Fault) -> Status {
    let review = try reviewDurably(record, account)
    let length = lengths.length(record, self)
    return Status(
      account, record, state(record, review), until: unlockTime(review.standing), length: length)
  }

  /// Corrections of time are made durable even here: the first who looks starts an unserved delay over.
  private func reviewDurably(_ record: Record, _ account: Account) throws(Fault) -> Record.Review {
    let review = try review(record)
    guard review.correction != nil else { return review }
    let store = try Store.open(configuration)
    switch try LockedRecord.acquire(store, account.uid, .none) {
    case .missing: return review
    // Who holds it is about to write it. Until then nobody is told of an end that isn't on the disk.
    case .busy: return review.withoutNewExpiry(of: record)
    case .locked(var locked):
      if locked.isCorrupt { throw corrupt(account) }
      let now = try self.review(locked.current)
      guard let correction = now.correction else { return now }
      do throws(Errno) { try locked.write(correction) } catch { throw unwritten(account, error) }
      return now
    }
  }

  private func state(_ record: Record, _ review: Record.Review) -> Status.State {
    if record.disabled { return .disabled }
    if record.paused { return .paused }
    if review.isExpired { return .expired }
    switch review.standing {
    case .open where record.terms.change == .needed: return .mustChange
    case .open: return .ok
    case .locked(let milliseconds): return .locked(milliseconds: milliseconds)
    case .exhausted: return .exhausted
    }
  }

  private func unlockTime(_ standing: Standing) -> UInt64? {
    guard case .locked(let milliseconds) = standing else { return nil }
    return clock.wall() + wholeSeconds(milliseconds)
  }

  /// A record that was read without taking its lock; nil if there is none.
  package struct Reading {
    /// nil: damaged.
    package let record: Record?
  }

  package func read(_ store: Store, _ uid: UInt32) throws(Fault) -> Reading? {
    guard let file = try store.open(uid, .read) else { return nil }
    let status = try store.check(file, uid)
    let content = try store.content(file, status, uid)
    guard var record = recordCodec.latest(content), record.uid == uid else { return Reading(record: nil) }
    if RevocationMark.refuses(status, record) { record.disabled = true }
    return Reading(record: record)
  }
}

extension Status {
  /// The status of an account without a readable record.
  package init(_ account: Account, _ state: State) {
    self.init(
      account: account, isEnrolled: state == .corrupt, length: nil, state: state, failures: 0,
      lockedUntil: nil, enrolledAt: nil, lastSuccess: nil, lastFailure: nil, failureService: [],
      mustChange: false, expiresAt: nil)
  }

  fileprivate init(_ account: Account, _ record: Record, _ state: State, until: UInt64?, length: Int?) {
    self.account = account
    self.state = state
    isEnrolled = true
    self.length = length
    failures = record.ledger.failures
    lockedUntil = until
    enrolledAt = record.times.enrolled == 0 ? nil : record.times.enrolled
    lastSuccess = record.times.success == 0 ? nil : record.times.success
    lastFailure = record.times.failure == 0 ? nil : record.times.failure
    failureService = record.failureService
    mustChange = record.terms.change != .notNeeded
    expiresAt = record.terms.expiry == 0 ? nil : record.terms.expiry
  }
}

// A status on its way from the helper to its caller: `Status+Told` reverses this, except for `lockedUntil`, which the
// caller computes by its own clock.                                                                 StatusTests

extension HelperStatus {
  /// What the helper sends.
  public init(_ status: Status) {
    self.init(
      State(status.state), isEnrolled: status.isEnrolled, length: status.length, failures: status.failures,
      milliseconds: 0)
    if case .locked(let left) = status.state { milliseconds = left }
    enrolledAt = status.enrolledAt ?? 0
    lastSuccess = status.lastSuccess ?? 0
    lastFailure = status.lastFailure ?? 0
    failureService = status.failureService
    mustChange = status.mustChange
    expiresAt = status.expiresAt ?? 0
    isFingerOff = status.isFingerOff
  }
}

extension HelperStatus.State {
  fileprivate init(_ state: Status.State) {
    switch state {
    case .ok: self = .ok
    case .locked: self = .locked
    case .exhausted: self = .exhausted
    case .disabled: self = .disabled
    case .corrupt: self = .corrupt
    case .expired: self = .expired
    case .mustChange: self = .mustChange
    case .paused: self = .paused
    }
  }
}
