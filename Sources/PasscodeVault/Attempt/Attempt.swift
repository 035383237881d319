public import PasscodePolicy
public import PasscodeSystem

// The attempt protocol, in this order: permit, record lock, ledger, terms and lockout, key and credential, repeated wrong
// passcode, hashing slot, memory, charge, Argon2 and constant-time comparison, settle, release, answer.
//
// MUST (attempt), here and in Gate, LockedRecord, Ledger, LastWrong, HashingSlots, Terms and Revocation:
//  0  What fails before the charge is `unavailable` and isn't counted. Hashing that can't be completed after the charge is
//     `unavailable` and stays counted. Only a completed mismatch is `wrong`. (`crypto_pwhash_str_verify` therefore can't
//     be used: when memory runs out, it answers as for a wrong passcode.) The memory that Argon2 needs is reserved before
//     the charge; where less than four times as much is free, its pages are touched, too.
//     test_crash.py, test_unavailable.py
//  3  Lockout is decided under the record's lock, after the passcode was typed.
//     test_the_lock_is_decided_after_the_typing
//  5  Three lines let somebody in: `granted` comes from one here and one in a fleet, each a completed match of a charged
//     attempt; `fingerGranted` from one, a touch that matched, decided under the same lock.              AttemptTests
//  9  While locked or disabled nothing is hashed, and nothing is written except for 10 and 13.
//     AttemptTests, test_locked_stays_locked_whatever_fails

/// A login of a process that reaches the store. Between look and attempt nothing is locked, and no secret is kept.
public struct DirectLogin: Login, ~Copyable {
  let vault: Vault
  let account: Account
  private let service: Bytes
  private let purpose: Purpose
  let store: Store
  private let waitsForLogin: Bool
  private var key: Descriptor?
  /// After a granted attempt: which credential was proven (see `Vault.enroll`).
  public private(set) var provenMark: Bytes?
  public private(set) var looked = Looked()
  /// With `finger=both`: what came from the reader so far; nil: it can't be asked here.
  public var touch: FingerTranscript?

  /// - Parameter service: the PAM service, for people who ask where a wrong passcode was typed.
  /// - Throws: a fault if the store is missing or not to be trusted.
  public static func open(
    _ vault: Vault, _ permit: Permit, service: Bytes, _ purpose: Purpose = .login
  ) throws(Fault) -> DirectLogin {
    // Swift 6.2 crashes where an initialiser of a noncopyable type with optional parts can fail.
    DirectLogin(
      vault: vault, account: permit.account, service: Record.serviceName(service), purpose: purpose,
      store: try Store.open(vault.configuration), waitsForLogin: permit.waitsForLogin)
  }

  /// Takes the lock without waiting. Where an attempt is under way the prompt comes, and the attempt decides.
  public mutating func look(_ unsealed: inout Unsealed) -> Verdict? {
    defer { unsealed.wipe() }
    do throws(Fault) {
      switch try LockedRecord.acquire(store, account.uid, .none) {
      case .missing: return .notEnrolled
      case .busy:
        if isTooEarly { return .notPermitted(.firstLogin) }
        looked.takesFinger = true  // not known: it is decided again at Enter
        return nil
      case .locked(var record):
        var standing = Standing.exhausted
        if let refusal = try refusal(&record, &standing) { return refusal }
        if record.current.ledger.failures > 0, case .open(let left) = standing { looked.attemptsLeft = left }
        // It is better not to ask for what can't be verified.
        _ = try openCredential(record.current, &unsealed)
        looked.needsPasscode = try isFingerDue
        looked.takesFinger =
          vault.policy.needsFinger || record.current.terms.allowFinger && !looked.needsPasscode
        return nil
      }
    } catch {
      return .unavailable(error)
    }
  }

  public mutating func attempt(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Verdict {
    // 20 ms: a program that tries again at once then waits like all others.
    var isContested = false
    defer { if isContested { vault.clock.sleep(20) } }
    defer { unsealed.wipe() }
    // It goes after the record's lock: a signal that suspends this process must not leave that locked.
    var undisturbed: SignalsBlocked?
    defer { _ = undisturbed.take() }
    do throws(Fault) {
      switch try lockedRecord() {
      case .refused(let verdict): return verdict
      case .ready(var record, let standing):
        isContested = record.isContested
        if vault.policy.needsFinger {
          guard let touch, isUsable(touch) else { return .notPermitted(.fingerNeeded) }
        }
        return try attempt(passcode, &record, standing, &unsealed, &undisturbed)
      }
    } catch {
      return .unavailable(error)
    }
  }

  private mutating func attempt(
    _ passcode: borrowing Passcode, _ record: inout LockedRecord, _ standing: Standing,
    _ unsealed: inout Unsealed, _ undisturbed: inout SignalsBlocked?
  ) throws(Fault) -> Verdict {
    let credential = try openCredential(record.current, &unsealed)
    let last = LastWrong(account, passcode, &unsealed, vault.configuration)
    let failures = record.current.ledger.failures
    if failures > 0, try last?.isRepeated(at: vault.clock.now()) ?? false {
      return .wrong(standing, failures: failures)
    }
    let slot = try vault.takeHashingSlot(store, account)
    if slot.hasWaited, try record.isRevokedByNow(store) { return .disabled }
    undisturbed = SignalsBlocked()
    let verdict = try attemptUndisturbed(passcode, credential, &record, &unsealed)
    if case .wrong = verdict { try last?.remember(at: vault.clock.now()) }
    return withExtendedLifetime(slot) { verdict }
  }

  /// - Precondition: no signal that can be blocked ends or suspends this, from the charge to the release of the record.
  private mutating func attemptUndisturbed(
    _ passcode: borrowing Passcode, _ credential: Credential, _ record: inout LockedRecord,
    _ unsealed: inout Unsealed
  ) throws(Fault) -> Verdict {
    try vault.reserveMemory(for: credential.cost)
    let before = record.current
    try charge(&record)
    guard let isMatch = credential.matches(passcode, &unsealed) else {
      throw Fault(.hashingFailed)
    }
    let ledger = record.current.ledger
    guard isMatch else {
      let standing = ledger.review(vault.policy.lockout, now: ledger.lastFailure).standing
      return .wrong(standing, failures: ledger.failures)
    }
    if try vault.hasExpired(&record) { return .expired }  // the charge stays
    if try record.isRevokedByNow(store) { return .disabled }
    // First the reset, at once; the new hash is a luxury.
    if try settle(before, &record), credential.cost != vault.policy.cost {
      rehash(passcode, &record, &unsealed)
    }
    // Other logins have no call to spare for it: setcred does it there.
    if vault.configuration.options.door.finger || vault.configuration.access == .service { touches.clear() }
    vault.noteUse(of: account)
    provenMark = vault.mark(record.current)
    return .granted(before.failedAttempts)
  }

  /// The record as whatever lets somebody in needs it, or why nothing may be tried.
  enum Ready: ~Copyable {
    case ready(LockedRecord, Standing)
    case refused(Verdict)
  }

  /// Waits for the record's lock, and decides under it.
  @inline(never)
  func lockedRecord() throws(Fault) -> Ready {
    switch try LockedRecord.acquire(store, account.uid, vault.clock) {
    case .missing: return .refused(.notEnrolled)
    case .busy: throw vault.busy(account)
    case .locked(var record):
      var standing = Standing.exhausted
      if let refusal = try refusal(&record, &standing) { return .refused(refusal) }
      return .ready(record, standing)
    }
  }

  /// Decides, under the lock, whether an attempt may be made now, and makes the ledger's corrections durable.
  ///
  /// - Parameter standing: what the ledger says, where nothing refuses the attempt.
  private func refusal(_ record: inout LockedRecord, _ standing: inout Standing) throws(Fault) -> Verdict? {
    if record.isCorrupt { throw vault.corrupt(account) }
    if record.isDamaged { vault.note(.damagedCopy, account) }
    guard record.current.state != .removed, try vault.isSameAccount(record.current, account) else {
      return .notEnrolled
    }
    if isTooEarly { return .notPermitted(.firstLogin) }
    if record.current.disabled || record.isRevoked { return .disabled }
    if record.current.paused { return .notPermitted(.paused) }
    if try isPasswordDue { return .notPermitted(.passwordDue) }
    if vault.configuration.isSecondFactor, !record.current.isAdministrators {
      return .notPermitted(.notAdministrators)
    }
    let failures = record.current.ledger.failures
    let review = try vault.reviewDurably(&record)
    if review.isExpired { return .expired }
    standing = review.standing
    switch standing {
    case .open where purpose == .login && record.current.terms.change == .needed: return .mustChange
    case .open where vault.policy.needsFinger && touch == nil: return .notPermitted(.fingerNeeded)
    case .open: return nil
    case .locked(let milliseconds): return .locked(milliseconds: milliseconds, failures: failures)
    case .exhausted: return .exhausted(failures: failures)
    }
  }

  /// Whether the account's first login is still to come, which may be over since the gate asked.
  @inline(never)
  private var isTooEarly: Bool {
    waitsForLogin && !LoginMark(account.uid, vault.configuration.access).isSet
  }

  mutating func openCredential(
    _ record: Record, _ unsealed: inout Unsealed
  ) throws(Fault) -> Credential {
    let machineKey = MachineKey(configuration: vault.configuration)
    try readKey(machineKey, &unsealed.key)
    do throws(Fault) { return try vault.openCredential(record, &unsealed) } catch {
      // Plain keys that came back from a backup must not lock out who needs a loaded one.
      guard error.reason == .sealedOtherwise else { throw error }
      if try machineKey.loadLoaded(&unsealed.key), let opened = try? vault.openCredential(record, &unsealed) {
        return opened
      }
      guard try machineKey.loadLoaded(&unsealed.key, .next) else { throw error }
      return try vault.openCredential(record, &unsealed)
    }
  }

  /// The file that was opened at the look may have been overwritten since: then the one that is there now.
  private mutating func readKey(_ machineKey: MachineKey, _ secret: inout SecretKey) throws(Fault) {
    if let open = key.take(), (try? machineKey.read(open, &secret)) != nil {
      key = consume open
      return
    }
    key = try machineKey.load(&secret)
  }

  /// Writes the failure that this attempt is until it turns out to be none.
  private func charge(_ record: inout LockedRecord) throws(Fault) {
    let now = try vault.clock.now()
    var charged = record.current
    charged.charge(at: now, wall: vault.clock.wall(), service: service)
    try vault.write(charged, to: &record)
  }

  /// Takes the charge back, and spends the one login of a passcode that was given out for one login.
  ///
  /// If that can't be written the charge stays: never more attempts than the ledger says. Whatever goes wrong
  /// here, or in `rehash`, the verdict stays, with one exception: if the one login can't be spent, it isn't granted,
  /// because it could be granted again. It is spent in both copies, so that later damage doesn't bring it back.
  ///
  /// - Returns: whether it was written.
  private func settle(_ before: Record, _ record: inout LockedRecord) throws(Fault) -> Bool {
    let spends = purpose == .login && before.terms.change == .afterLogin
    var settled = record.current
    settled.settle(before, wall: vault.clock.wall(), spends: spends)
    do throws(Errno) {
      if spends { try record.replace(settled) } else { try record.write(settled) }
      return true
    } catch {
      if spends { throw vault.unwritten(account.uid, error) }
      logUnwritten(error)
      return false
    }
  }

  /// Hashes the passcode again, where the configured cost is another one by now; where that can't be done, the record
  /// stays as it is.
  private func rehash(
    _ passcode: borrowing Passcode, _ record: inout LockedRecord, _ unsealed: inout Unsealed
  ) {
    var rehashed = record.current
    guard Credential.make(passcode, &unsealed, vault.policy.cost, vault.sodium) else { return }
    rehashed.state = .enrolled(sealed: Credential.seal(&unsealed, rehashed, vault.sodium))
    do throws(Errno) { try record.replace(rehashed) } catch { logUnwritten(error) }
  }

  @inline(never)
  private func logUnwritten(_ error: Errno) { vault.note(.notReset, account, error: error.code) }
}
