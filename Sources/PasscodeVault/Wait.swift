internal import PasscodePolicy
internal import PasscodeSystem

/// Waits for something that others hold, for as long as anything moves.
struct Wait {
  enum Outcome {
    /// Try again.
    case again
    /// Nothing has moved for long: whoever holds it is stopped or frozen.
    case stuck
    /// 120 s, with movement.
    case tooLong
  }

  /// Milliseconds without movement, for a record.
  static let forRecord: UInt64 = 10_000
  /// For a place: less, so that whoever waits for a record still sees its holder give up waiting and go on.
  static let forPlace: UInt64 = 9_000

  private static let longest: UInt64 = 120_000
  private static let lookEvery: UInt64 = 250
  private static let longestPause = 40

  private let stuckAfter: UInt64
  private var started: UInt64?
  private var lastMove: UInt64 = 0
  private var lastLook: UInt64 = 0
  private var seen = Bytes()
  private var pauseMilliseconds = 1

  init(stuckAfter: UInt64) {
    self.stuckAfter = stuckAfter
  }

  /// Sleeps a little, longer each time.
  ///
  /// - Parameter movement: what changes when something moves.
  @inline(never)
  mutating func pause(_ movement: () -> Bytes) -> Outcome {
    guard let now = SystemClock.bootMilliseconds() else { return .stuck }
    if started == nil || now - lastLook >= Wait.lookEvery {
      lastLook = now
      let current = movement()
      if started == nil || current != seen { lastMove = now }
      seen = current
      started = started ?? now
    }
    if now - lastMove >= stuckAfter { return .stuck }
    if let started, now - started >= Wait.longest { return .tooLong }
    SystemClock.sleep(microseconds: pauseMilliseconds * 1_000)
    pauseMilliseconds = min(pauseMilliseconds * 2, Wait.longestPause)
    return .again
  }
}
