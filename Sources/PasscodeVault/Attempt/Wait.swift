package import PasscodePolicy
internal import PasscodeSystem

/// Waits for something that others hold, for as long as anything moves.            WaitTests
package final class Wait {
  package enum Outcome {
    /// The caller looks again, whether it has what it waits for.
    case again
    /// Nothing has moved for long: the process that holds it is stopped or frozen.
    case stuck
    /// The wait took as long as any may, though things moved.
    case tooLong
  }

  /// In milliseconds.
  package struct Limits {
    let withoutMovement: UInt64
    let longest: UInt64
    /// Whether it looks more often the longer it has waited.
    let quickens: Bool
    /// The longest pause.
    let pause: Int

    package init(withoutMovement: UInt64, longest: UInt64, quickens: Bool = false, pause: Int = 40) {
      self.withoutMovement = withoutMovement
      self.longest = longest
      self.quickens = quickens
      self.pause = pause
    }

    /// The limits for a record, whose holder may take it again at once. Among 32 threads that did so, looking every
    /// 40 ms, some waited for 2 minutes; so those that wait longest look most often.             test_parallel.py
    static var forRecord: Limits { Limits(withoutMovement: 10_000, longest: 120_000, quickens: true) }
    /// Shorter, so that those who wait for a record still see its holder stop waiting and go on.
    package static var forSlot: Limits { Limits(withoutMovement: 9_000, longest: 120_000) }
  }

  private static let lookEvery: UInt64 = 250

  /// Milliseconds since the first pause began.
  private(set) var elapsed: UInt64 = 0
  private let limits: Limits
  package let clock: Clock
  package var started: UInt64?
  private var lastMove: UInt64 = 0
  private var lastLook: UInt64 = 0
  private var seen = Bytes()
  package private(set) var pauseMilliseconds: Int

  @inline(never)
  package init(_ limits: Limits, _ clock: Clock, firstPause: Int = 1) {
    self.limits = limits
    self.clock = clock
    pauseMilliseconds = firstPause
  }

  /// Sleeps a little, longer each time, at first.
  ///
  /// - Parameter movement: what changes when something moves.
  @inline(never)
  package func pause(_ movement: () -> Bytes) -> Outcome {
    guard let now = clock.milliseconds() else { return .stuck }
    let start = started ?? now
    if started == nil || SystemClock.elapsed(from: lastLook, to: now) >= Wait.lookEvery {
      lastLook = now
      let current = movement()
      if started == nil || current != seen { lastMove = now }
      seen = current
      started = start
    }
    elapsed = SystemClock.elapsed(from: start, to: now)
    if SystemClock.elapsed(from: lastMove, to: now) >= limits.withoutMovement { return .stuck }
    if elapsed >= limits.longest { return .tooLong }
    clock.sleep(pauseMilliseconds)
    pauseMilliseconds = min(pauseMilliseconds * 2, longestPause)
    return .again
  }

  /// Whether the wait has taken more than a second.
  var isLong: Bool { elapsed > 1_000 }

  /// Where it quickens, 1 ms less for each quarter of a second.
  private var longestPause: Int {
    guard limits.quickens else { return limits.pause }
    return max(1, limits.pause &- Int(truncatingIfNeeded: elapsed / 250))
  }
}
