public import PasscodePolicy
public import PasscodeSystem

extension Vault {
  /// What the helper tells of an account's passcode. Also for root, and for a person's own store.
  public func helperStatus(of account: Account) throws(Fault) -> HelperStatus {
    var status = try statusOfPasscode(account)
    if configuration.isUsual {
      status.isFingerOff = TouchCounter(uid: account.uid, configuration.access).isOff
    }
    return status
  }

  private func statusOfPasscode(_ account: Account) throws(Fault) -> HelperStatus {
    let store = try Store.open(configuration)
    guard let reading = try read(store, account.uid, { recordCodec.read($0)?.record }) else {
      return HelperStatus(.ok, isEnrolled: false)
    }
    guard let record = reading.record else { return HelperStatus(.corrupt, isEnrolled: true) }
    guard record.state != .removed, try isSameAccount(record, account) else {
      let isDisabled = record.disabled && record.name == account.name
      return HelperStatus(isDisabled ? .disabled : .ok, isEnrolled: false)
    }
    return try helperStatus(of: account, record, length: length(record))
  }

  /// Digits; nil: there is no key, or the credential doesn't open with it.
  private func length(_ record: Record) -> Int? {
    guard var secrets = Secrets(sodium),
      (try? MachineKey(configuration: configuration).load(&secrets.unsealed.key)) != nil
    else { return nil }
    return (try? openCredential(record, &secrets.unsealed))?.digits
  }

  /// The status of an account with a passcode.
  package func helperStatus(
    of account: Account, _ record: Record, length: Int?
  ) throws(Fault) -> HelperStatus {
    let review = try reviewDurably(record, account)
    var status = HelperStatus(state(record, review), of: record)
    status.length = length
    if status.state == .locked, case .locked(let left) = review.standing { status.milliseconds = left }
    return status
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
      return try self.reviewDurably(&locked)
    }
  }

  private func state(_ record: Record, _ review: Record.Review) -> HelperStatus.State {
    if record.disabled { return .disabled }
    if record.paused { return .paused }
    if review.isExpired { return .expired }
    switch review.standing {
    case .open where record.terms.change == .needed: return .mustChange
    case .open: return .ok
    case .locked: return .locked
    case .exhausted: return .exhausted
    }
  }

  /// A record that was read without taking its lock; nil if there is none.
  package struct Reading {
    /// nil: damaged.
    package let record: Record?
  }

  /// A record that is read without its lock; nil: there is none.
  ///
  /// - Parameter choose: the record of a file's content, by `RecordCodec.read`, or by `latest`, which is faster for many.
  @inline(never)
  package func read(_ store: Store, _ uid: UInt32, _ choose: (Bytes) -> Record?) throws(Fault) -> Reading? {
    guard let file = try store.open(uid, .read) else { return nil }
    let status = try store.check(file, uid)
    let content = try store.content(file, status, uid)
    guard var record = choose(content), record.uid == uid else { return Reading(record: nil) }
    if RevocationMark.refuses(status, record) { record.disabled = true }
    return Reading(record: record)
  }
}
