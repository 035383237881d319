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

  public init(failures: UInt32, lastFailure: Instant, served: Bool) {
    self.failures = failures
    self.lastFailure = lastFailure
    self.served = served
  }

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
