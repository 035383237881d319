public import PasscodePolicy

extension Clock {
  /// The clock, with a call of `body` before each sleep.
  public func calling(_ body: @escaping () -> Void) -> Clock {
    ClosureClock(
      now: { [self] () throws(Fault) in try now() }, wall: { [self] in wall() },
      milliseconds: { [self] in milliseconds() },
      sleep: { [self] in
        body()
        sleep($0)
      })
  }
}

/// A clock that asks closures: a test's, or one that does something before it sleeps.
public final class ClosureClock: Clock {
  private let moment: () throws(Fault) -> Instant
  private let seconds: () -> UInt64
  private let elapsed: () -> UInt64?
  private let pause: (Int) -> Void

  public init(
    now: @escaping () throws(Fault) -> Instant, wall: @escaping () -> UInt64,
    milliseconds: @escaping () -> UInt64?, sleep: @escaping (Int) -> Void
  ) {
    (moment, seconds, elapsed, pause) = (now, wall, milliseconds, sleep)
    super.init(boot: nil)
  }

  override func now() throws(Fault) -> Instant { try moment() }
  override package func wall() -> UInt64 { seconds() }
  override package func milliseconds() -> UInt64? { elapsed() }
  override package func sleep(_ milliseconds: Int) { pause(milliseconds) }
}
