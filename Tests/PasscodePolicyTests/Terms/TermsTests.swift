import Testing

@testable import PasscodePolicy

struct TermsTests {
  private static let day: UInt64 = 86_400
  private static let start: UInt64 = 1_767_225_600

  /// Given out at second 1,000 of this boot, for a day.
  private func terms(seenTime: UInt64 = start, seenAt: Instant = now(1_000_000)) -> Terms {
    Terms(change: .notNeeded, expiry: Self.start + Self.day, seenTime: seenTime, seenAt: seenAt)
  }

  @Test func `without terms a passcode never expires, and nothing is written`() {
    let review = Terms.none.review(now: now(.max), wall: .max)
    #expect(!review.isExpired && review.correction == nil)
    #expect(Terms.none.seen(now: now(5), wall: 9) == .none)
    #expect(Terms(NewTerms(), now: now(5), wall: 9) == .none)
  }

  @Test func `terms begin when they are given`() {
    var new = NewTerms()
    new.seconds = Self.day
    #expect(Terms(new, now: now(1_000_000), wall: Self.start) == terms())
    new.seconds = 0
    new.mustChange = true
    #expect(Terms(new, now: now(1), wall: 1).change == .afterLogin)
    new.seconds = .max
    #expect(Terms(new, now: now(1), wall: 2).expiry == .max, "wrapped around")
  }

  /// Milliseconds of this boot since then, seconds of the wall clock since then, and whether it is over.
  @Test(
    arguments: [
      (0, 0, false), (86_399_999, 86_399, false), (86_400_000, 86_400, true), (1_000, 86_400, true),
      (86_400_000, 0, true), (86_400_000, -1_000_000_000, true), (1_000, -1_000_000_000, false),
      (86_399_000, -5, false), (0, 1_000_000_000, true), (.max - 1_000_000, 0, true),
    ] as [(UInt64, Int, Bool)])
  func `the first of two clocks to say so ends it`(boot: UInt64, wall: Int, isExpired: Bool) {
    let wall = UInt64(Int(Self.start) + wall)
    let review = terms().review(now: now(1_000_000 + boot), wall: wall)
    #expect(review.isExpired == isExpired)
    #expect((review.correction != nil) == isExpired, "only an end is news within a boot")
  }

  @Test(arguments: [now(1_000_001), now(0), elsewhere(0), elsewhere(.max)], [0, 1, start, start + day - 1])
  func `what was seen over stays over, whatever the clocks say`(moment: Instant, wall: UInt64) throws {
    let over = try #require(
      terms().review(now: now(1_000_000), wall: Self.start + Self.day).correction)
    let review = over.review(now: moment, wall: wall)
    #expect(review.isExpired && review.correction == nil)
  }

  @Test(arguments: [elsewhere(0), elsewhere(1_000_000), elsewhere(.max), now(999_999), now(0)])
  func `another boot counts on from the latest time that was seen`(moment: Instant) throws {
    let later = terms(seenTime: Self.start + 3_600)
    let review = later.review(now: moment, wall: 0)
    #expect(review.isExpired == false)
    #expect(review.correction == terms(seenTime: Self.start + 3_600, seenAt: moment))
    let ahead = later.review(now: moment, wall: Self.start + 7_200)
    #expect(ahead.correction == terms(seenTime: Self.start + 7_200, seenAt: moment))
    // And then by that boot's time, though the wall clock stands.
    let counting = try #require(review.correction)
    guard moment.milliseconds < 1 << 40 else { return }
    for (left, isExpired) in [(1, false), (0, true)] as [(UInt64, Bool)] {
      let end = moment.milliseconds + (Self.day - 3_600 - left) * 1_000
      #expect(
        counting.review(now: Instant(boot: moment.boot, milliseconds: end), wall: 0).isExpired == isExpired)
    }
  }

  @Test func `a clock that was set back wins no time`() {
    var terms = terms()
    for hour in 1...23 as ClosedRange<UInt64> {
      // Each attempt an hour later, by a clock that is then set back to the beginning.
      terms = terms.seen(now: now(1_000_000), wall: Self.start + hour * 3_600)
      terms = terms.seen(now: now(1_000_000), wall: Self.start)
      #expect(!terms.review(now: now(1_000_000), wall: Self.start).isExpired)
    }
    #expect(terms.review(now: now(1_000_000 + 3_600_000), wall: Self.start).isExpired)
  }

  @Test func `attempts in quick succession lose no time`() {
    var terms = terms()
    for tick in 1...1_000 as ClosedRange<UInt64> {
      terms = terms.seen(now: now(1_000_000 + tick * 86_400), wall: Self.start)
    }
    #expect(terms.review(now: now(1_000_000 + 86_400_000), wall: Self.start).isExpired)
  }

  @Test(
    arguments: [
      ("1m", 60), ("90m", 5_400), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600),
      ("3650d", 315_360_000), ("521w", 315_100_800), ("87600h", 315_360_000), ("0d", nil), ("3651d", nil),
      ("522w", nil), ("18446744073709551616d", nil), ("307445734561825861m", nil), ("7", nil), ("59s", nil),
      ("60s", 60), ("90", 90),
      ("d", nil), ("", nil), ("-1d", nil), ("+1d", nil), ("1 d", nil), (" 1d", nil), ("1D", nil),
      ("01d", nil), ("1d2h", nil), ("1.5d", nil), ("1y", nil), ("7dd", nil),
    ] as [(String, UInt64?)])
  func `a time has a number and a unit, and a range`(text: String, seconds: UInt64?) {
    #expect(NewTerms.seconds(Bytes(text: text)) == seconds)
  }

  @Test func `a date is a day or a minute, and nothing else`() throws {
    let day = try #require(LocalMoment(Bytes(text: "2026-12-31")))
    #expect([day.year, day.month, day.day, day.minutes] == [2_026, 12, 31, 1_440])
    let minute = try #require(LocalMoment(Bytes(text: "2026-02-03T04:05")))
    #expect([minute.year, minute.month, minute.day, minute.minutes] == [2_026, 2, 3, 245])
    for other in [
      "", "2026", "2026-12-3", "26-12-31", "2026-1-31", "2026/12/31", "2026-12-31 ", " 2026-12-31",
      "2026-12-31T",
      "2026-12-31T18", "2026-12-31T18:0", "2026-12-31T24:00", "2026-12-31T18:60", "2026-12-31 18:00",
      "2026-12-31T18:00Z", "2026-12-31T18:00:00", "+026-12-31", "2026-12-+1", "2026-1a-31",
    ] { #expect(LocalMoment(Bytes(text: other)) == nil, "\(other)") }
  }

  @Test func `a date ends it at that moment, however long it takes to set it`() {
    var new = NewTerms()
    new.until = Self.start + 500
    #expect(new.expires && new.secondsLeft(wall: Self.start) == 500 && new.secondsLeft(wall: .max) == 0)
    for late in [0, 100, 400] as [UInt64] {
      #expect(Terms(new, now: now(1_000_000), wall: Self.start + late).expiry == Self.start + 500)
    }
  }

  @Test func `a record's review has both, and both corrections at once`() throws {
    var record = Record(uid: 1, name: [0x61], generation: 1)
    record.terms = terms()
    record.ledger = Ledger(failures: 3, lastFailure: now(1_000_000), served: false)
    let review = record.review(.standard, now: elsewhere(7), wall: Self.start)
    #expect(!review.isExpired && review.standing == .locked(milliseconds: 60_000))
    let corrected = try #require(review.correction)
    #expect(corrected.ledger.lastFailure == elsewhere(7) && corrected.terms.seenAt == elsewhere(7))
    #expect(corrected.review(.standard, now: elsewhere(7), wall: 0).correction == nil)
    record.ledger = .clear
    record.terms = .none
    #expect(record.review(.standard, now: elsewhere(7), wall: .max).correction == nil)
  }
}
