public import PasscodePolicy
public import PasscodeSystem

/// Everything that can be done with passcodes, for every door: one place that reads and writes records.
///
/// A Vault holds no files open and no state; each call opens, checks and releases what it needs.
public struct Vault {
  public let configuration: Configuration
  let sodium: Sodium
  let clock: Clock
  /// Takes a line for the log that isn't part of any answer.
  let log: (Bytes) -> Void

  /// - Parameter log: takes lines that belong in the system's log; they hold nothing secret.
  public init(
    _ configuration: Configuration, _ sodium: Sodium, clock: Clock = .system, log: @escaping (Bytes) -> Void
  ) {
    self.configuration = configuration
    self.sodium = sodium
    self.clock = clock
    self.log = log
  }

  var policy: Options.Policy { configuration.options.policy }
}

/// Where the Vault's time comes from; tests bring their own.
public struct Clock {
  /// The moment that decides (MUST 10).
  let now: () throws(Fault) -> Instant
  /// Seconds since 1970, for people.
  let wall: () -> UInt64

  public init(now: @escaping () throws(Fault) -> Instant, wall: @escaping () -> UInt64) {
    self.now = now
    self.wall = wall
  }

  public static var system: Clock {
    Clock(now: { () throws(Fault) in try systemInstant() }, wall: { SystemClock.wallSeconds() })
  }

  private static func systemInstant() throws(Fault) -> Instant {
    guard let milliseconds = SystemClock.bootMilliseconds() else {
      throw Fault(.clock, "the kernel has no CLOCK_BOOTTIME")
    }
    guard let text = try? SystemClock.bootID(), let boot = BootID(kernelText: text[...]) else {
      throw Fault(.clock, "/proc/sys/kernel/random/boot_id can't be read: lockout times can't be told")
    }
    return Instant(boot: boot, milliseconds: milliseconds)
  }
}

extension Vault {
  /// What stands between a locked record and an attempt.
  enum Readiness {
    case ready(Record, sealed: Bytes)
    case refused(Verdict)
  }

  /// Decides, under the lock, whether an attempt may be made now, and makes the ledger's corrections durable.
  func readiness(_ record: inout LockedRecord, _ account: Account) throws(Fault) -> Readiness {
    guard let contents = record.contents else { throw corrupt(account) }
    if contents.damaged {
      log(note("one slot of a record is damaged; the other serves, and the next write repairs it", account))
    }
    var current = contents.record
    guard case .enrolled(let sealed) = current.state, isSameAccount(current, account) else {
      return .refused(.notEnrolled)
    }
    if current.suspended { return .refused(.disabled) }
    let review = current.ledger.review(policy.lockout, now: try clock.now())
    if let correction = review.correction {
      current.ledger = correction
      do throws(Errno) { try record.write(current) } catch { throw unwritten(account, error) }
    }
    switch review.standing {
    case .open: return .ready(record.contents?.record ?? current, sealed: sealed)
    case .locked(let milliseconds): return .refused(.locked(milliseconds: milliseconds))
    case .exhausted: return .refused(.exhausted)
    }
  }

  /// A uid may have been given to somebody else since the record was made.
  func isSameAccount(_ record: Record, _ account: Account) -> Bool {
    guard case .found(let today) = Account.numbered(record.uid), today.name == record.name else {
      log(note("the record was made for another account name: not enrolled", account))
      return false
    }
    return true
  }

  /// For messages.
  @inline(never)
  func recordPath(_ uid: UInt32) -> Bytes {
    Text("\(policy.store)/\(uid)").bytes
  }

  @inline(never)
  func corrupt(_ account: Account) -> Fault {
    Fault(
      .record, at: recordPath(account.uid),
      "the record is damaged: restore it from a backup, or enrol again as root (passcode enroll)")
  }

  @inline(never)
  func unwritten(_ account: Account, _ error: Errno) -> Fault {
    Fault(.record, at: recordPath(account.uid), "can't be written: \(error.text)")
  }

  @inline(never)
  func busy(_ account: Account) -> Fault {
    Fault(.busy, at: recordPath(account.uid), "another attempt holds the record and doesn't move")
  }

  @inline(never)
  func note(_ text: Text, _ account: Account) -> Bytes {
    var line = LogLine(text)
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    return line.text
  }
}
