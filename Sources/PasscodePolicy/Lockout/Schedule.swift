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
