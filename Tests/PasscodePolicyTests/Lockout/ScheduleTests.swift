import Testing

@testable import PasscodePolicy

struct ScheduleTests {
  @Test(
    arguments: [
      (0, .none), (1, .none), (2, .none),
      (3, .seconds(60)), (4, .seconds(60)),
      (5, .seconds(300)), (6, .seconds(300)),
      (7, .seconds(900)), (8, .seconds(900)),
      (9, .seconds(3_600)),
      (10, .reset), (11, .reset), (.max, .reset),
    ] as [(UInt32, Schedule.Delay)])
  func `the standard schedule holds each step from its first failure to its last`(
    failures: UInt32, delay: Schedule.Delay
  ) {
    #expect(Schedule.standard.delay(after: failures) == delay)
  }

  @Test func `a fleet's schedule is the standard one but for its end`() {
    #expect(Schedule.fleet.steps.dropLast() == Schedule.standard.steps.dropLast())
  }

  @Test func `the standard schedule is what its text says`() {
    #expect(Schedule(slice("3:1m,5:5m,7:15m,9:1h,10:reset")) == .standard)
    #expect(Schedule(slice("3:60,5:300s,7:900,9:3600,10:reset")) == .standard)
    #expect(Schedule(slice("3:1m,5:5m,7:15m,9:1h,11:reset")) != .standard)
  }

  @Test(arguments: [(0, 3), (1, 2), (2, 1), (3, 1), (4, 1), (8, 1), (9, 1), (.max, 1)] as [(UInt32, UInt32)])
  func `attempts left count down to the first delay and are one after it`(failures: UInt32, left: UInt32) {
    #expect(Schedule.standard.attemptsLeft(after: failures) == left)
  }

  @Test(
    arguments: [
      (2, .none), (3, .seconds(60)), (4, .seconds(60)), (1_000, .seconds(60)), (.max, .seconds(60)),
    ] as [(UInt32, Schedule.Delay)])
  func `a flat schedule goes on with its only delay`(failures: UInt32, delay: Schedule.Delay) throws {
    let flat = try #require(Schedule(slice("3:1m")))
    #expect(flat.delay(after: failures) == delay)
  }

  @Test(arguments: [(0, .none), (1, .reset), (2, .reset), (.max, .reset)] as [(UInt32, Schedule.Delay)])
  func `a schedule may be nothing but a reset`(failures: UInt32, delay: Schedule.Delay) throws {
    let schedule = try #require(Schedule(slice("1:reset")))
    #expect(schedule.delay(after: failures) == delay)
  }

  @Test(
    arguments: [
      ("3:1", 1), ("3:59", 59), ("3:90s", 90), ("3:2m", 120), ("3:1h", 3_600), ("3:1d", 86_400),
      ("3:4w", 2_419_200), ("3:30d", 2_592_000), ("3:2592000", 2_592_000), ("1000:1s", 1),
    ] as [(String, UInt64)])
  func `a delay is seconds, minutes, hours, days or weeks`(text: String, seconds: UInt64) throws {
    let schedule = try #require(Schedule(slice(text)))
    #expect(schedule.steps.map(\.delay) == [.seconds(seconds)])
  }

  @Test(arguments: [
    "", ",", ":", "3", "3:", ":1m", "3:1m,", ",3:1m", "3:1m,,5:5m", "3:1m 5:5m", "3=1m", "3;1m",
    "0:1m", "1001:1m", "-3:1m", "+3:1m", "03:1m", "3.0:1m", "x:1m", "٣:1m", "18446744073709551616:1m",
    "4294967299:1m", "3:0", "3:0s", "3:01m", "3:-1m", "3:5w", "3:m", "3:1mm", "3:1M", "3:1 m", " 3:1m",
    "3:1m ", "3:31d", "3:2592001", "3:99999999999999999999", "3:9999999999999999999d", "3:Reset", "3:resett",
    "3:1m:2m", "reset", "5:5m,3:1m", "3:1m,3:5m", "3:5m,5:1m", "3:1m,5:1m", "3:1m,5:60", "3:reset,5:5m",
    "3:reset,5:reset", "3:1m\n", "3:1m\u{0}",
  ])
  func `a malformed or falling schedule is refused`(text: String) {
    #expect(Schedule(slice(text)) == nil)
  }

  @Test func `sixteen steps are taken and seventeen refused`() {
    let steps = (1...17).map { "\($0):\($0)m" }
    #expect(Schedule(slice(steps.prefix(16).joined(separator: ",")))?.steps.count == 16)
    #expect(Schedule(slice(steps.joined(separator: ","))) == nil)
  }

  @Test(
    arguments: [("0", 0), ("52w", 31_449_600), ("365d", 31_536_000), ("31536000s", 31_536_000)]
      as [(String, UInt64)])
  func `a duration ends at a year`(text: String, seconds: UInt64) {
    #expect(duration(slice(text)) == seconds)
  }

  @Test(arguments: ["", "s", "366d", "53w", "31536001", "8761h", "1.5m", "1e3"])
  func `what is no duration is refused`(text: String) {
    #expect(duration(slice(text)) == nil)
  }
}
