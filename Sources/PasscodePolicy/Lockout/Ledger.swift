/// A user's consecutive failures, and the decision whether another attempt may be made now.
///
/// MUST (attempt):
/// 10  Within one boot, CLOCK_BOOTTIME and the boot id decide. A delay from another boot, or one that starts in the future,
///     starts again in full, once. A delay that was found over is marked served, and doesn't start again. The first process
///     that finds either writes that to disk before it answers. No lock depends on the wall clock. Without a readable boot
///     id: `unavailable`.                                                     LedgerTests, ClockTests, test_clock.py
public struct Ledger: Equatable, Sendable {
  /// Consecutive charged failures since the last success, unlock or enrolment.
  public var failures: UInt32
  /// When the last one was charged; `Instant.never` where failures is 0.
  public var lastFailure: Instant
  /// The delay after the last failure was found over.
  public var served: Bool

  public static let clear = Ledger(failures: 0, lastFailure: .never, served: false)

  /// The ledger with one more failure, charged now. (Saturates: no count ever wraps to "no failures".)
  public func charged(at now: Instant) -> Ledger {
    let (sum, overflow) = failures.addingReportingOverflow(1)
    return Ledger(failures: overflow ? .max : sum, lastFailure: now, served: false)
  }
}

/// A moment of one boot.
public struct Instant: Equatable, Sendable {
  public let boot: BootID
  /// CLOCK_BOOTTIME in milliseconds.
  public let milliseconds: UInt64

  public static let never = Instant(boot: .none, milliseconds: 0)

  public init(boot: BootID, milliseconds: UInt64) {
    self.boot = boot
    self.milliseconds = milliseconds
  }
}

/// The kernel's random id of this boot (/proc/sys/kernel/random/boot_id), 128 bits.
public struct BootID: Equatable, Sendable {
  public let high: UInt64
  public let low: UInt64

  /// The id of no boot, for a ledger without failures.
  public static let none = BootID(high: 0, low: 0)

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// From the kernel's form, 8-4-4-4-12 hexadecimal digits; nil for anything else or all zeros.
  public init?(kernelText text: ArraySlice<UInt8>) {
    guard text.count == 36 else { return nil }
    var digits = Bytes()
    for index in 0..<36 {
      let byte = text[text.startIndex + index]
      let isDash = index == 8 || index == 13 || index == 18 || index == 23
      if isDash != (byte == UInt8(ascii: "-")) { return nil }
      if !isDash { digits.append(byte: byte) }
    }
    self.init(hexadecimal: digits[...])
    if self == .none { return nil }
  }

  /// From 32 hexadecimal digits; nil for anything else.
  public init?(hexadecimal text: ArraySlice<UInt8>) {
    guard text.count == 32, let raw = bytes(hexadecimal: text) else { return nil }
    high = littleEndianNumber(raw, 0, 8).byteSwapped
    low = littleEndianNumber(raw, 8, 8).byteSwapped
  }

  /// 32 hexadecimal digits.
  @inline(never)
  public var hexadecimalText: Bytes {
    var bytes = littleEndian(high.byteSwapped, 8)
    bytes.append(low.byteSwapped, bytes: 8)
    return hexadecimal(bytes)
  }
}

/// What a ledger allows now.
public enum Standing: Equatable, Sendable {
  /// An attempt may be made; after `attemptsLeft` failures a delay starts (at least 1).
  case open(attemptsLeft: UInt32)
  /// No attempt for so many milliseconds (at least 1).
  case locked(milliseconds: UInt64)
  /// Locked out: no attempt until an administrator or the owner unlocks the passcode.
  case exhausted
}

extension Ledger {
  /// Decides what is allowed now. Only `.open` allows an attempt.
  ///
  /// - Returns: also what must be written, durably, before the standing is told or used; nil: nothing.
  @inline(never)
  public func review(_ schedule: Schedule, now: Instant) -> (standing: Standing, correction: Ledger?) {
    let open = Standing.open(attemptsLeft: schedule.attemptsLeft(after: failures))
    switch schedule.delay(after: failures) {
    case .reset: return (.exhausted, nil)
    case .seconds(let seconds) where !served:
      let delay = seconds * 1_000  // at most 30 days: fits
      guard lastFailure.boot == now.boot, lastFailure.milliseconds <= now.milliseconds else {
        let restarted = Ledger(failures: failures, lastFailure: now, served: false)
        return (.locked(milliseconds: delay), restarted)
      }
      let elapsed = now.milliseconds - lastFailure.milliseconds
      if elapsed < delay { return (.locked(milliseconds: delay - elapsed), nil) }
      return (open, Ledger(failures: failures, lastFailure: lastFailure, served: true))
    case .none, .seconds: return (open, nil)
    }
  }
}

/// Which delay follows which number of consecutive failures: `lockout=3:1m,5:5m,7:15m,9:1h,10:reset`.
///
/// A step holds from its number of failures on until the next step's. Before the first step there is no delay. If the last
/// step is a time, that delay follows every further failure; nothing follows `reset`. It is kept as the text, which is read
/// again for each decision: an array of steps takes 0.5 kB of the module's code.
public struct Schedule: Sendable {
  public struct Step: Equatable, Sendable {
    /// Consecutive failures from which on this step holds: 1 to 1,000.
    public let failures: UInt32
    public let delay: Delay
  }

  /// Shorter ones come first.
  public enum Delay: Comparable, Sendable {
    case none
    /// 1 second to 30 days.
    case seconds(UInt64)
    /// Locked out: no further attempt until an administrator or the owner unlocks the passcode.
    case reset
  }

  /// Well-formed steps, at least one; failures and delays both rise.
  let text: Bytes

  /// Steps that a schedule can have.
  public static let mostSteps = 16
  /// Failures that a step can name.
  public static let mostFailures: UInt32 = 1_000
  /// Seconds: 30 days.
  public static let longestDelay: UInt64 = 30 * 24 * 3_600

  /// The default: 3 failures, then 1 minute, and longer delays after that, as on phones. A flat minute would allow
  /// thousands of guesses a day. To change it, change `OptionTable`'s text, too, `Schedule.fleet` and the documents:
  /// OptionTests, ScheduleTests and test_documents.py compare them.
  public static var standard: Schedule { Schedule(sound: "3:1m,5:5m,7:15m,9:1h,10:reset") }

  init(sound text: Literal) {
    self.text = Bytes(text: text)
  }

  /// The delay that starts with the given failure.
  public func delay(after failures: UInt32) -> Delay {
    var delay = Delay.none
    _ = text[...].allParts(between: UInt8(ascii: ",")) { part in
      guard let step = Step(part), step.failures <= failures else { return false }
      delay = step.delay
      return true
    }
    return delay
  }

  /// How many more failures there can be until the next one starts a delay: at least 1.
  public func attemptsLeft(after failures: UInt32) -> UInt32 {
    let first = text.prefix { $0 != UInt8(ascii: ":") }
    guard let most = decimal(first), UInt64(failures) < most else { return 1 }
    return UInt32(most) - failures
  }
}

// MARK: - Text form: FAILURES:DELAY,… with DELAY a time (90, 90s, 1m, 1h, 1d) or `reset`

extension Schedule {
  /// - Returns: nil unless every step is well-formed, in range, and above the one before it.
  public init?(_ text: ArraySlice<UInt8>) {
    var steps = 0
    var delay = Delay.none
    var failures: UInt32 = 0
    let isSound = text.allParts(between: UInt8(ascii: ",")) { part in
      guard steps < Schedule.mostSteps, let step = Step(part) else { return false }
      guard step.failures > failures, step.delay > delay else { return false }
      (steps, failures, delay) = (steps + 1, step.failures, step.delay)
      return true
    }
    guard isSound else { return nil }
    self.text = Bytes(text)
  }
}

extension Schedule.Step {
  @inline(never)
  init?(_ text: ArraySlice<UInt8>) {
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), let failures = decimal(text[..<colon]),
      failures <= UInt64(Schedule.mostFailures)
    else { return nil }
    self.failures = UInt32(failures)
    let delay = text[(colon + 1)...]
    if delay.spells("reset") {
      self.delay = .reset
    } else {
      guard let seconds = duration(delay), 1...Schedule.longestDelay ~= seconds else { return nil }
      self.delay = .seconds(seconds)
    }
  }
}

/// A time left in whole seconds, rounded up: nobody comes back too early.
public func wholeSeconds(_ milliseconds: UInt64) -> UInt64 {
  milliseconds / 1_000 + (milliseconds % 1_000 == 0 ? 0 : 1)
}

/// Seconds in a text like `90`, `90s`, `2m`, `1h`, `1d` or `1w`, the one grammar for times; else, or above `limit`, nil.
///
/// - Parameter limit: seconds; 365 days, or more.
public func duration(_ text: ArraySlice<UInt8>, upTo limit: UInt64 = 31_536_000) -> UInt64? {
  let scales: InlineArray<5, UInt64> = [1, 60, 3_600, 86_400, 604_800]
  guard let (number, unit) = quantity(text, "s m h d w"), number <= limit else { return nil }
  let seconds = number * (unit.map { scales[$0] } ?? 1)
  return seconds <= limit ? seconds : nil
}

/// A number with or without a unit, and which of these letters that is; nil: the text is none.
@inline(never)
func quantity(_ text: ArraySlice<UInt8>, _ units: Literal) -> (number: UInt64, unit: Int?)? {
  let unit = number(of: text.suffix(1), among: units)
  return decimal(unit == nil ? text : text[..<(text.endIndex - 1)]).map { ($0, unit) }
}
