public import PasscodePolicy
public import PasscodeSystem

/// Everything that can be done with passcodes, for every door: one place that reads and writes records.
///
/// A Vault holds no files open and no state; each call opens, checks and releases what it needs.
public final class Vault {
  public let configuration: Configuration
  let sodium: Sodium
  let clock: Clock
  /// Takes a line for the log that isn't part of any answer.
  let log: (Bytes) -> Void
  /// So many hashing slots this Vault leaves to others, as long as it has one itself; and all overflow slots.
  let spareSlots: Int

  /// - Parameter log: takes lines that belong in the system's log; they hold nothing secret.
  public init(
    _ configuration: Configuration, _ sodium: Sodium, clock: Clock = .system, spareSlots: Int = 0,
    log: @escaping (Bytes) -> Void
  ) {
    self.configuration = configuration
    self.sodium = sodium
    self.clock = clock
    self.log = log
    self.spareSlots = spareSlots
  }

  var policy: Options.Policy { configuration.options.policy }
}

/// Where the Vault's time comes from; tests bring their own.
public struct Clock {
  /// The moment that decides (MUST 10).
  let now: () throws(Fault) -> Instant
  /// Seconds since 1970, for people.
  let wall: () -> UInt64
  /// How long something has been waited for; nil: no such clock.
  let milliseconds: () -> UInt64?
  /// Milliseconds to sleep, less than 1,000.
  let sleep: (Int) -> Void

  public init(
    now: @escaping () throws(Fault) -> Instant, wall: @escaping () -> UInt64,
    milliseconds: @escaping () -> UInt64? = { SystemClock.bootMilliseconds() },
    sleep: @escaping (Int) -> Void = { SystemClock.sleep(microseconds: $0 * 1_000) }
  ) {
    self.now = now
    self.wall = wall
    self.milliseconds = milliseconds
    self.sleep = sleep
  }

  /// The kernel's.
  public static var system: Clock {
    let boot = systemBoot()
    return Clock(
      now: { () throws(Fault) in
        guard let boot else {
          throw Fault(.clock, "/proc/sys/kernel/random/boot_id can't be read: lockout times are unknown")
        }
        guard let milliseconds = SystemClock.bootMilliseconds() else {
          throw Fault(.clock, "the kernel has no CLOCK_BOOTTIME")
        }
        return Instant(boot: boot, milliseconds: milliseconds)
      },
      wall: { SystemClock.wallSeconds() })
  }

  /// The same for a process that has nothing else to do: what it waits for it notices within a millisecond.
  public static var attentive: Clock {
    let clock = system
    return Clock(now: clock.now, wall: clock.wall, sleep: { _ in SystemClock.sleep(microseconds: 1_000) })
  }

  private static func systemBoot() -> BootID? {
    guard let text = try? SystemClock.bootID() else { return nil }
    return BootID(kernelText: text[...])
  }
}

extension Vault {
  /// A uid may have been given to somebody else since the record was made.
  ///
  /// - Throws: a fault if that can't be told: who it belongs to must not look like "nobody" to `nullok`.
  func isSameAccount(_ record: Record, _ account: Account) throws(Fault) -> Bool {
    // The account was looked up just now: its name and uid belong together today.
    if account.name == record.name { return true }
    guard case .found(let today) = Account.numbered(record.uid) else {
      throw Fault(.account, "uid \(record.uid) can't be looked up (getent passwd \(record.uid))")
    }
    if today.name == record.name { return true }
    noteOtherName(account)
    return false
  }

  @inline(__always)
  func noteOtherName(_ account: Account) {
    log(note("the record was made for another account name: not enrolled", account))
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
      "the record is damaged: restore it from a backup, or run as root: passcode enroll \(printable(account.name))"
    )
  }

  @inline(never)
  func unwritten(_ account: Account, _ error: Errno) -> Fault {
    Fault(.record, at: recordPath(account.uid), "can't be written: \(error.text)")
  }

  @inline(never)
  func busy(_ account: Account) -> Fault {
    Fault(.busy, at: recordPath(account.uid), "another attempt holds the record: try again later")
  }

  @inline(never)
  func note(_ text: Text, _ account: Account) -> Bytes {
    var line = LogLine(text)
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    return line.text
  }
}
