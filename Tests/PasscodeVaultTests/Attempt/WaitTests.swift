import PasscodePolicy
import Testing

@testable import PasscodeVault

/// The limits of waiting, by a clock that only sleeping moves: the real ones pass in no time.
struct WaitTests {
  /// Which wait, in milliseconds; its end where nothing moves, and where something does.
  private static let waits: [(limits: Wait.Limits, stuck: UInt64, tooLong: UInt64)] = [
    (.forRecord, 10_000, 120_000),
    (.forSlot, 9_000, 120_000),
    (Wait.Limits(withoutMovement: 300, longest: 1_000), 300, 1_000),
  ]

  @Test(arguments: waits)
  func `a wait ends when nothing has moved`(limits: Wait.Limits, stuck: UInt64, _: UInt64) {
    let (outcome, elapsed) = waited(limits) { _ in 0 }
    #expect(outcome == .stuck)
    #expect((stuck..<stuck + 50).contains(elapsed))
  }

  @Test(arguments: waits)
  func `a wait ends when it takes too long, whatever moves`(limits: Wait.Limits, _: UInt64, tooLong: UInt64) {
    let (outcome, elapsed) = waited(limits) { $0 }
    #expect(outcome == .tooLong)
    #expect((tooLong..<tooLong + 50).contains(elapsed))
  }

  /// Where something moves at each look, and where nothing does: what comes of a pause at each of these
  /// milliseconds, and how often it has looked by then.
  private static let pauses: [(moves: Bool, [(at: UInt64, Wait.Outcome, looks: Int)])] = [
    (false, [(0, .again, 1), (249, .again, 1), (250, .again, 2), (299, .again, 2), (300, .stuck, 2)]),
    (
      true,
      [
        (0, .again, 1), (250, .again, 2), (549, .again, 3), (800, .again, 4), (999, .again, 4),
        (1_000, .tooLong, 4),
      ]
    ),
  ]

  @Test(arguments: pauses)
  func `a wait ends at its limits, and not a millisecond sooner`(
    moves: Bool, pauses: [(at: UInt64, Wait.Outcome, looks: Int)]
  ) {
    var now: UInt64 = 0
    var looks = 0
    let wait = Wait(
      Wait.Limits(withoutMovement: 300, longest: 1_000),
      clock({ 7 + now }, sleep: { _ in }))
    for pause in pauses {
      now = pause.at
      let outcome = wait.pause {
        looks += 1
        return moves ? decimalDigits(now) : []
      }
      #expect(outcome == pause.1 && looks == pause.looks, "after \(now) ms")
      #expect(!wait.isLong)
    }
  }

  @Test func `a wait is long after one second`() {
    var now: UInt64 = 0
    let wait = Wait(
      .forSlot,
      clock { now })
    for (moment, isLong) in [(0, false), (1_000, false), (1_001, true)] as [(UInt64, Bool)] {
      now = moment
      _ = wait.pause { [] }
      #expect(wait.isLong == isLong)
    }
  }

  @Test func `nothing moves any more: the wait goes on from the last movement`() {
    let (outcome, elapsed) = waited(.forRecord) { min($0, 30_000) }
    #expect(outcome == .stuck)
    // It looks four times a second.
    #expect((40_000..<40_400).contains(elapsed))
  }

  @Test func `whoever waits sees its time, and sleeps a little longer each time`() {
    var now: UInt64 = 7
    var sleeps: [Int] = []
    let wait = Wait(
      .forSlot,
      clock(
        { now },
        sleep: {
          sleeps.append($0)
          now += UInt64($0)
        }))
    #expect(wait.elapsed == 0)
    while now < 207 { _ = wait.pause { [] } }
    #expect(sleeps == [1, 2, 4, 8, 16, 32, 40, 40, 40, 40])
    #expect(wait.elapsed == UInt64(sleeps.dropLast().reduce(0, +)))
  }

  @Test func `who waits long for a record looks more and more often, and for a slot does not`() {
    for (limits, last) in [(Wait.Limits.forRecord, 1), (.forSlot, 40)] {
      var now: UInt64 = 7
      var sleeps: [Int] = []
      let wait = Wait(
        limits,
        clock(
          { now },
          sleep: {
            sleeps.append($0)
            now += UInt64($0)
          }))
      while now < 12_000 { _ = wait.pause { decimalDigits(now) } }
      #expect(sleeps.prefix(7) == [1, 2, 4, 8, 16, 32, 40])
      #expect(sleeps.last == last)
      #expect(sleeps.dropFirst(6) == sleeps.dropFirst(6).sorted(by: >)[...])
    }
  }

  @Test func `a clock that goes back ends no program, and no wait either`() {
    var now: UInt64 = 0
    let wait = Wait(
      .forSlot,
      clock { now })
    // Nothing has moved since 5,000.
    for (moment, expected) in [
      (5_000, .again), (5_001, .again), (0, .again), (13_999, .again), (14_000, .stuck),
    ] as [(UInt64, Wait.Outcome)] {
      now = moment
      #expect(wait.pause { [] } == expected)
    }
  }

  /// Milliseconds for which everything stands still during one sleep, and what is left of the 9 s after it, where nothing
  /// has moved for 5 s before; the shortest sleep.
  @Test(
    arguments: [(900, 3_100, 0), (900, 3_100, 900), (1_200, 9_000, 0), (100_000, 9_000, 0)]
      as [(UInt64, UInt64, Int)])
  func `a process that was stopped while it slept has seen nothing, and gives the others their time`(
    stop: UInt64, left: UInt64, least: Int
  ) {
    var (now, stopped) = (UInt64(7), UInt64(0))
    let wait = Wait(
      .forSlot,
      clock {
        now
      } sleep: {
        now += UInt64($0)
        guard now >= 5_000, stopped == 0 else { return }
        now += stop
        stopped = now
      })
    while case .again = wait.pause(atLeast: least, { [] }) {}
    #expect((left - 950..<left + 950).contains(now - stopped))
  }

  @Test(arguments: [1_500, 600_000] as [UInt64])
  func `a wait in which every sleep is late ends all the same`(late: UInt64) {
    for limits in [Wait.Limits.forSlot, .forRecord] {
      var now: UInt64 = 7
      let wait = Wait(
        limits,
        clock {
          now
        } sleep: {
          now += UInt64($0) + late
        })
      var outcome = Wait.Outcome.again
      while case .again = outcome { outcome = wait.pause { [] } }
      #expect(outcome == .tooLong && (120_000..<120_000 + 2 * late).contains(now))
    }
  }

  @Test func `without a clock nobody waits`() {
    let wait = Wait(
      .forSlot,
      clock({ nil }, sleep: { _ in Issue.record("slept") }))
    #expect(wait.pause { [] } == .stuck)
  }

  /// Waits to the end; `movement` says what there is to see after so many milliseconds.
  private func waited(_ limits: Wait.Limits, _ movement: @escaping (UInt64) -> UInt64) -> (
    Wait.Outcome, UInt64
  ) {
    let start: UInt64 = 5_000_000
    var now = start
    let wait = Wait(
      limits,
      clock({ now }, sleep: { now += UInt64($0) }))
    while true {
      let outcome = wait.pause { decimalDigits(movement(now - start)) }
      if outcome != .again { return (outcome, now - start) }
    }
  }

  /// A clock of milliseconds: a wait asks for nothing else.
  private func clock(
    _ milliseconds: @escaping () -> UInt64?, sleep: @escaping (Int) -> Void = { _ in }
  ) -> ClosureClock {
    ClosureClock(
      now: { () throws(Fault) in throw Fault(.noBootClock) }, wall: { 0 }, milliseconds: milliseconds,
      sleep: sleep)
  }
}
