extension Clock {
  /// The clock, with a call of `body` before each sleep.
  public func calling(_ body: @escaping () -> Void) -> Clock {
    let sleep = sleep
    return sleeping {
      body()
      sleep($0)
    }
  }

  /// The clock, with another way to sleep.
  package func sleeping(_ sleep: @escaping (Int) -> Void) -> Clock {
    Clock(now: now, wall: wall, milliseconds: milliseconds, sleep: sleep)
  }
}
