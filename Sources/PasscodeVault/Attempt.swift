public import PasscodePolicy
public import PasscodeSystem

// The attempt protocol. MUST, and what shows it:
//  0  The order below: whose attempt, lock, ledger, lockout, key, memory, charge, hash, compare, settle.
//     What fails before the charge is unavailable and uncharged; hashing that can't be completed is
//     unavailable and stays charged; only a completed mismatch is wrong.       test_module.py, test_crash.py
//  1  Only for one's own account or by real root: `Permit`.                     test_module.py
//  2  The record's lock is held from the ledger's reading to the settling.      test_parallel.py
//  3  Lockout is decided under that lock, after the typing.                     test_parallel.py
//  4  The charge is durable before Argon2 starts.                               test_syscalls.py
//  5  `granted` comes from one line.                                            VaultTests
//  6  Granted resets the ledger; a reset that fails leaves a charge and never
//     changes the verdict. A failure writes nothing more.                       test_syscalls.py
//  9  While locked or disabled nothing is hashed, and nothing written but what
//     time makes necessary (10).                                                test_module.py

extension Vault {
  /// What can be said without a passcode: the refusal there is now, or nil if asking for one makes sense.
  ///
  /// Takes the lock without waiting. Where an attempt is under way it says nothing: the prompt comes, and
  /// the attempt decides.
  public func look(_ permit: Permit) -> Verdict? {
    do throws(Fault) {
      let store = try Store.open(configuration)
      switch try LockedRecord.acquire(store, permit.account.uid, .none) {
      case .missing: return .notEnrolled
      case .busy: return nil
      case .locked(var record):
        switch try readiness(&record, permit.account) {
        case .refused(let verdict): return verdict
        case .ready(let current, let sealed): return try lookAtKey(current, sealed)
        }
      }
    } catch {
      return .unavailable(error)
    }
  }

  /// Whoever can't be verified is better not asked.
  private func lookAtKey(_ record: Record, _ sealed: Bytes) throws(Fault) -> Verdict? {
    guard var secrets = Secrets(sodium) else { throw Fault(.memory, "no memory for the machine key") }
    _ = try openCredential(record, sealed, &secrets)
    return nil
  }

  /// One attempt with the passcode in the secrets' field `code`.
  ///
  /// - Precondition: the field holds an `Answer.passcode`.
  public func attempt(_ permit: Permit, _ secrets: inout Secrets) -> Verdict {
    do throws(Fault) {
      let store = try Store.open(configuration)
      switch try LockedRecord.acquire(store, permit.account.uid, .full) {
      case .missing: return .notEnrolled
      case .busy: throw busy(permit.account)
      case .locked(var record): return try attempt(permit.account, &record, &secrets)
      }
    } catch {
      return .unavailable(error)
    }
  }

  private func attempt(
    _ account: Account, _ record: inout LockedRecord, _ secrets: inout Secrets
  ) throws(Fault) -> Verdict {
    switch try readiness(&record, account) {
    case .refused(let verdict): return verdict
    case .ready(let current, let sealed):
      let credential = try openCredential(current, sealed, &secrets)
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      try reserve(credential.cost)
      let charged = try charge(current, &record, account)
      return try verify(credential, before: current, charged, &record, &secrets)
    }
  }

  func openCredential(_ record: Record, _ sealed: Bytes, _ secrets: inout Secrets) throws(Fault) -> Credential
  {
    try MachineKey(configuration: configuration).load(&secrets)
    guard let credential = Credential.open(sealed, record, &secrets) else {
      throw Fault(
        .key, at: recordPath(record.uid),
        "was sealed under another machine key, or was altered: restore the key or the record from a backup, "
          + "or enrol again as root (passcode enroll)")
    }
    return credential
  }

  /// libsodium takes a little more than it is told.
  private func reserve(_ cost: Options.Cost) throws(Fault) {
    do throws(Errno) {
      try reserveMemory(cost.memory + 1 << 18)
    } catch {
      throw Fault(.memory, "not enough memory to verify a passcode (\(cost.memory >> 10) KiB): \(error.text)")
    }
  }

  /// Writes the failure that this attempt is until it turns out to be none.
  private func charge(
    _ current: Record, _ record: inout LockedRecord, _ account: Account
  ) throws(Fault) -> Record {
    var charged = current
    charged.ledger = current.ledger.charged(at: try clock.now())
    charged.times.failure = clock.wall()
    do throws(Errno) { try record.write(charged) } catch { throw unwritten(account, error) }
    return charged
  }

  private func verify(
    _ credential: Credential, before: Record, _ charged: Record, _ record: inout LockedRecord,
    _ secrets: inout Secrets
  ) throws(Fault) -> Verdict {
    guard let isMatch = credential.matches(&secrets) else {
      throw Fault(.memory, "hashing could not be completed (no memory); the attempt counts")
    }
    guard isMatch else {
      return .wrong(charged.ledger.review(policy.lockout, now: charged.ledger.lastFailure).standing)
    }
    settle(before, &record)
    return .granted
  }

  /// Takes the charge back. If that can't be written the charge stays: never more attempts than the ledger says.
  private func settle(_ before: Record, _ record: inout LockedRecord) {
    var settled = before
    settled.ledger = .clear
    settled.times.success = clock.wall()
    do throws(Errno) {
      try record.write(settled)
    } catch {
      var line = LogLine("granted, but the failure count could not be reset")
      line.add("uid", UInt64(before.uid))
      line.add("error", error.text)
      log(line.text)
    }
  }
}
