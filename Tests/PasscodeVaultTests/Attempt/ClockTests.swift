import PasscodePolicy
import Testing

@testable import PasscodeVault

/// MUST 10, with clocks that the tests move.
struct ClockTests {
  @Test(arguments: [(0, 60_000), (1, 59_999), (59_999, 1)] as [(UInt64, UInt64)])
  func `a delay lasts until its last millisecond`(elapsed: UInt64, left: UInt64) throws {
    let bed = try TestBed()
    try bed.fail(3)
    bed.now += elapsed
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: left, failures: 3))
  }

  @Test func `a delay over lets in`() throws {
    let bed = try TestBed()
    try bed.fail(3)
    bed.now += 60_000
    #expect(try bed.look() == nil)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test(arguments: [0, 1, 915_148_799, 1 << 31, 4_294_967_297, UInt64.max / 2])
  func `the wall clock decides nothing`(wall: UInt64) throws {
    let bed = try TestBed()
    try bed.fail(2)
    bed.wall = wall
    #expect(try bed.attempt("3715") == .wrong(.locked(milliseconds: 60_000), failures: 3))
    bed.wall = 1_767_225_600
    bed.now += 59_999
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: 1, failures: 3))
    bed.wall = wall
    bed.now += 1
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test(arguments: [0, 5, 1_000_000, 1_059_999, 1_060_000, 90_000_000] as [UInt64])
  func `an unserved delay starts over in full in another boot, and once`(moment: UInt64) throws {
    let bed = try TestBed()
    try bed.fail(3)
    bed.reboot()
    bed.now = moment
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: 60_000, failures: 3))
    bed.now = moment + 59_999
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: 1, failures: 3))
    bed.now = moment + 60_000
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `a served delay doesn't start over in another boot`() throws {
    let bed = try TestBed()
    try bed.fail(3)
    bed.now += 60_000
    #expect(try bed.look() == nil)  // finds it over, and marks it served
    bed.reboot()
    bed.now = 3
    #expect(try bed.look() == nil)
    #expect(try bed.attempt("4826") == .wrong(.locked(milliseconds: 60_000), failures: 4))
  }

  @Test func `whoever only asks for the status serves it, too`() throws {
    let bed = try TestBed()
    try bed.fail(3)
    bed.now += 60_000
    #expect(try bed.status().state == .ok)
    bed.reboot()
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `a failure that lies ahead starts over here and now, once`() throws {
    let bed = try TestBed()
    bed.now = 50_000_000
    try bed.fail(3)
    bed.now = 1_000
    #expect(try bed.status().state == .locked && bed.status().told.milliseconds == 60_000)
    bed.now = 61_000 - 1
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: 1, failures: 3))
    bed.now = 61_000
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  /// Any sequence of what can happen, against a model that knows nothing of copies, files and corrections.
  @Test(arguments: UInt64(0)..<6)
  func `any sequence of attempts, waits, reboots and looks is the model's`(seed: UInt64) throws {
    let bed = try TestBed(lockout: "2:10s,4:60s,6:reset")
    var random = SplitMix(state: seed)
    var model = Model()
    for step in 0..<150 {
      switch random.next() % 8 {
      case 0, 1:
        let wrong = String(2_000 + step)
        #expect(try bed.attempt(wrong) == model.attempt(isRight: false), "seed \(seed), step \(step)")
      case 2:
        #expect(
          try bed.attempt(TestBed.right).plain == model.attempt(isRight: true), "seed \(seed), step \(step)")
      case 3, 4:
        let time = [1, 5_000, 9_999, 10_000, 60_000][Int(random.next() % 5)] as UInt64
        bed.now += time
        model.wait(time)
      case 5:
        bed.reboot()
        bed.now = random.next() % 100_000
        model.reboot()
      case 6:
        _ = try bed.status()
        model.look()
      default:
        if random.next() % 4 == 0 {
          _ = try bed.vault.unlock(bed.account, by: .direct)
          model = Model()
        }
      }
      #expect(try bed.status().failures == model.failures, "seed \(seed), step \(step)")
      model.look()
    }
  }
}

/// What the lockout is to a person: a count, and a delay that must be sat out in one boot.
private struct Model {
  var failures: UInt32 = 0
  /// Still to be waited; nil: none.
  private var left: UInt64?

  private var delay: UInt64? { failures < 2 ? nil : failures < 4 ? 10_000 : 60_000 }

  /// A delay found over is gone for good.
  mutating func look() {
    if left == 0 { left = nil }
  }

  mutating func wait(_ milliseconds: UInt64) {
    if let time = left { left = time > milliseconds ? time - milliseconds : 0 }
  }

  mutating func reboot() {
    if left != nil { left = delay }
  }

  mutating func attempt(isRight: Bool) -> Verdict {
    look()
    if failures >= 6 { return .exhausted(failures: failures) }
    if let left { return .locked(milliseconds: left, failures: failures) }
    if isRight {
      failures = 0
      return .granted()
    }
    failures += 1
    if failures >= 6 { return .wrong(.exhausted, failures: failures) }
    left = delay
    return .wrong(
      left.map { .locked(milliseconds: $0) } ?? .open(attemptsLeft: 2 - failures), failures: failures)
  }
}

extension Verdict {
  /// Without what failed earlier.
  fileprivate var plain: Verdict { isGranted ? .granted() : self }
}

/// Sebastiano Vigna's SplitMix64: the same sequence for the same seed.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
}
