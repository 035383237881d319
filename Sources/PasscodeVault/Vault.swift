public import PasscodePolicy
public import PasscodeSystem

/// Everything that can be done with passcodes, for every program: one place that reads and writes records.
///
/// A Vault holds no files open and no state; each call opens, checks and releases what it needs.
public final class Vault {
  public let configuration: Configuration
  package let sodium: Sodium
  package let clock: Clock
  /// Takes faults for the log that are part of no answer.
  package let log: (Fault) -> Void

  /// - Parameter log: takes what belongs in the system's log; nothing of it is secret.
  public init(
    _ configuration: Configuration, _ sodium: Sodium, clock: Clock = .system,
    log: @escaping (Fault) -> Void
  ) {
    self.configuration = configuration
    self.sodium = sodium
    self.clock = clock
    self.log = log
  }

  package var policy: Options.Policy { configuration.options.policy }
}

/// The clock of the kernel, from which the Vault has its time. `ClosureClock` replaces it, mostly in tests.
public class Clock {
  /// The boot's id, without which no moment is known; nil if the kernel doesn't give it.
  private let boot: BootID?

  init(boot: BootID?) {
    self.boot = boot
  }

  public static var system: Clock {
    guard let text = try? SystemClock.bootID() else { return Clock(boot: nil) }
    return Clock(boot: BootID(kernelText: text[...]))
  }

  /// The moment that decides (MUST 10).
  func now() throws(Fault) -> Instant {
    guard let boot else { throw Fault(.noBootID) }
    guard let milliseconds = SystemClock.bootMilliseconds() else { throw Fault(.noBootClock) }
    return Instant(boot: boot, milliseconds: milliseconds)
  }

  /// Seconds since 1970, for people.
  package func wall() -> UInt64 { SystemClock.wallSeconds() }

  /// How long something has been waited for; nil: no such clock.
  package func milliseconds() -> UInt64? { SystemClock.bootMilliseconds() }

  /// - Parameter milliseconds: less than 1,000.
  package func sleep(_ milliseconds: Int) { SystemClock.sleep(microseconds: milliseconds * 1_000) }
}

extension Vault {
  /// A uid may have been given to somebody else since the record was made.
  ///
  /// - Throws: a fault if that can't be told: who it belongs to must not look like "nobody" to `nullok`.
  package func isSameAccount(_ record: Record, _ account: Account) throws(Fault) -> Bool {
    // The account was looked up just now: its name and uid belong together today.
    if account.name == record.name { return true }
    guard case .found(let today) = Account.numbered(record.uid) else {
      throw Fault(.lostAccount, number: UInt64(record.uid))
    }
    if today.name == record.name { return true }
    note(.otherName, account)
    return false
  }

  /// The path of a user's record, for faults.
  @inline(never)
  package func recordPath(_ uid: UInt32) -> Bytes {
    joined(policy.store, decimalDigits(UInt64(uid)))
  }

  @inline(never)
  package func corrupt(_ account: Account) -> Fault {
    Fault(.damagedRecord, path: recordPath(account.uid), name: account.name)
  }

  @inline(never)
  package func unwritten(_ uid: UInt32, _ error: Errno) -> Fault {
    Fault(.unwritableRecord, path: recordPath(uid), error: error.code)
  }

  @inline(never)
  package func busy(_ account: Account) -> Fault {
    Fault(.busyRecord, path: recordPath(account.uid))
  }

  @inline(never)
  package func note(_ reason: Fault.Reason, _ account: Account, path: Bytes = [], error: Int32 = 0) {
    log(Fault(reason, path: path, name: account.name, number: UInt64(account.uid), error: error))
  }
}

// What `Words` needs of the system: an errno's words, the service account's name, the local time, and translations.

extension Fault {
  /// One line for the log, in English, where nothing but a login can fail.
  public var loginText: Text { Words.loginFault(self, error: systemWords) }
  /// One line for the helper's log. Neither brings the sentences that only `text` has.
  public var helperText: Text { Words.helperFault(self, error: systemWords) }

  package var systemWords: Bytes {
    reason.namesServiceAccount ? Installed.account : Errno(Int32(error)).text
  }

  /// A note as a line of the log.
  public var logLine: Bytes {
    var line = LogLine(loginText)
    guard reason.isNote else { return line.text }
    line.add("user", name)
    line.add("uid", number)
    return line.text
  }
}

extension Verdict {
  /// What it tells the person at the prompt, in the language of the program; nil: nothing.
  @inline(never)
  public var notice: Text? {
    Words.notice(self, in: Catalogue.translation, time: SystemClock.localMoment)
  }
}
