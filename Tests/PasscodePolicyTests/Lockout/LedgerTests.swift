import Testing

@testable import PasscodePolicy

struct LedgerTests {
  /// A ledger whose last failure was charged at second 1,000 of this boot.
  private func ledger(_ failures: UInt32, served: Bool = false) -> Ledger {
    Ledger(failures: failures, lastFailure: now(1_000_000), served: served)
  }

  @Test(
    arguments: [
      (0, .open(attemptsLeft: 3)), (1, .open(attemptsLeft: 2)), (2, .open(attemptsLeft: 1)),
      (3, .locked(milliseconds: 60_000)), (4, .locked(milliseconds: 60_000)),
      (5, .locked(milliseconds: 300_000)), (6, .locked(milliseconds: 300_000)),
      (7, .locked(milliseconds: 900_000)), (8, .locked(milliseconds: 900_000)),
      (9, .locked(milliseconds: 3_600_000)), (10, .exhausted), (11, .exhausted), (.max, .exhausted),
    ] as [(UInt32, Standing)])
  func `each number of failures stands as the schedule says`(failures: UInt32, standing: Standing) {
    let review = ledger(failures).review(.standard, now: now(1_000_000))
    #expect(review.standing == standing && review.correction == nil)
  }

  @Test(
    arguments: [
      (1_000_000, .locked(milliseconds: 60_000)), (1_000_001, .locked(milliseconds: 59_999)),
      (1_059_999, .locked(milliseconds: 1)), (1_060_000, .open(attemptsLeft: 1)),
      (1_060_001, .open(attemptsLeft: 1)), (.max, .open(attemptsLeft: 1)),
    ] as [(UInt64, Standing)])
  func `a delay ends at its last millisecond`(moment: UInt64, standing: Standing) {
    #expect(ledger(3).review(.standard, now: now(moment)).standing == standing)
  }

  @Test func `whoever finds a delay over marks it served`() {
    let review = ledger(3).review(.standard, now: now(1_060_000))
    #expect(review.correction == ledger(3, served: true))
  }

  @Test(arguments: [now(1_060_000), now(5), elsewhere(5), elsewhere(2_000_000)])
  func `a served delay never starts over`(moment: Instant) {
    let review = ledger(3, served: true).review(.standard, now: moment)
    #expect(review.standing == .open(attemptsLeft: 1) && review.correction == nil)
  }

  @Test(arguments: [now(999_999), now(0), elsewhere(0), elsewhere(1_000_000), elsewhere(9_000_000)])
  func `another boot's delay, or one ahead, starts over in full`(moment: Instant) {
    let review = ledger(5).review(.standard, now: moment)
    #expect(review.standing == .locked(milliseconds: 300_000))
    #expect(review.correction == Ledger(failures: 5, lastFailure: moment, served: false))
  }

  @Test(arguments: [now(999_999), elsewhere(7_000_000)])
  func `a delay starts over exactly once`(moment: Instant) throws {
    let restarted = try #require(ledger(3).review(.standard, now: moment).correction)
    let later = Instant(boot: moment.boot, milliseconds: moment.milliseconds + 59_999)
    let review = restarted.review(.standard, now: later)
    #expect(review.standing == .locked(milliseconds: 1) && review.correction == nil)
    let end = Instant(boot: moment.boot, milliseconds: moment.milliseconds + 60_000)
    #expect(restarted.review(.standard, now: end).standing == .open(attemptsLeft: 1))
  }

  @Test(arguments: [elsewhere(0), now(0)], [UInt32(0), 1, 2, 10, 11])
  func `where there is no delay there is nothing to start over`(moment: Instant, failures: UInt32) {
    #expect(ledger(failures).review(.standard, now: moment).correction == nil)
  }

  @Test func `a served delay opens one attempt and its failure locks again`() {
    let again = ledger(3, served: true).charged(at: now(2_000_000))
    #expect(again == Ledger(failures: 4, lastFailure: now(2_000_000), served: false))
    #expect(again.review(.standard, now: now(2_000_000)).standing == .locked(milliseconds: 60_000))
  }

  @Test func `three charges of a clear ledger lock it`() {
    let charged = (1...3).reduce(Ledger.clear) { ledger, moment in ledger.charged(at: now(UInt64(moment))) }
    #expect(charged == Ledger(failures: 3, lastFailure: now(3), served: false))
    #expect(charged.review(.standard, now: now(3)).standing == .locked(milliseconds: 60_000))
  }

  @Test func `a clear ledger is open in every boot`() {
    let review = Ledger.clear.review(.standard, now: elsewhere(0))
    #expect(review.standing == .open(attemptsLeft: 3) && review.correction == nil)
  }

  @Test func `the count of failures saturates and never wraps`() {
    #expect(ledger(.max).charged(at: now(1)).failures == .max)
    #expect(ledger(.max - 1).charged(at: now(1)).failures == .max)
  }

  @Test func `the longest delay is counted without overflow`() throws {
    let schedule = try #require(Schedule(slice("1:30d")))
    let last = Ledger(failures: 1, lastFailure: now(.max), served: false)
    #expect(last.review(schedule, now: now(.max)).standing == .locked(milliseconds: 2_592_000_000))
  }
}

struct BootIDTests {
  @Test func `the kernel's text and ours name the same boot`() throws {
    let boot = try #require(BootID(kernelText: slice("9f2e1c00-0a1b-4c2d-8e3f-0123456789ab")))
    #expect(text(boot.hexadecimalText) == "9f2e1c000a1b4c2d8e3f0123456789ab")
    #expect(BootID(hexadecimal: boot.hexadecimalText[...]) == boot)
    #expect(boot == BootID(high: 0x9f2e_1c00_0a1b_4c2d, low: 0x8e3f_0123_4567_89ab))
  }

  @Test(arguments: [
    "", "-", "----", "00000000-0000-0000-0000-000000000000", "9f2e1c000a1b4c2d8e3f0123456789ab",
    "9f2e1c00-0a1b-4c2d-8e3f-0123456789ab\n", "9f2e1c00-0a1b-4c2d-8e3f-0123456789a",
    "9f2e1c00-0a1b-4c2d-8e3f-0123456789ag", "9F2E1C00-0a1b-4c2d-8e3f-0123456789ab",
    "9f2e1c0-00a1b-4c2d-8e3f-0123456789ab", "-9f2e1c00-0a1b-4c2d-8e3f-0123456789ab",
  ])
  func `anything else is no boot`(kernelText: String) {
    #expect(BootID(kernelText: slice(kernelText)) == nil)
  }

  @Test(arguments: ["", "0", "9f2e1c000a1b4c2d8e3f0123456789abc", "9f2e1c000a1b4c2d8e3f0123456789aZ"])
  func `a stored id is 32 hexadecimal digits`(stored: String) {
    #expect(BootID(hexadecimal: slice(stored)) == nil)
  }
}
