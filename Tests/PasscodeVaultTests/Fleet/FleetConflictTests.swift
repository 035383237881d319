import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// What others do between the steps of an attempt.
struct FleetConflictTests {
  @Test func `an attempt after a look reads nothing again`() throws {
    let bed = try FleetBed()
    var before = bed.etcd.requests
    let verdict = try bed.attempt(TestBed.right) { before = bed.etcd.requests }
    #expect(verdict.isGranted)
    #expect(bed.etcd.requests == before + 2, "charge and settle")
  }

  @Test func `a charge that is refused says what has changed`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    var before = bed.etcd.requests
    let verdict = try bed.attempt(TestBed.right) {
      _ = try bed.attempt("1593", bob)
      before = bed.etcd.requests
    }
    #expect(verdict.isGranted && bed.station() == 1)
    #expect(bed.etcd.requests == before + 3, "two charges and settle")
  }

  @Test func `a settling that is refused says what has changed`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    var (others, before) = (2, bed.etcd.requests)
    bed.etcd.before = { transaction in
      guard FleetBed.isSettling(transaction), others > 0 else { return }
      others -= 1
      let own = bed.etcd.requests
      _ = try? bed.attempt(others > 0 ? "1593" : "2604", bob)
      before += bed.etcd.requests - own
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.station() == 2)
    #expect(bed.etcd.requests == before + 5, "a read, a charge and three settlings")
  }

  @Test func `what has changed since a look counts`() throws {
    let acts: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().disable(FleetBed.alice, true) }, { _ = try $0.fleet().remove(FleetBed.alice) },
      { try $0.enroll("8305") }, { _ = try $0.fail(3, at: "ws2") },
      { $0.etcd.set(FleetKeys.epoch, Bytes(text: "2")) },
    ]
    for (index, act) in acts.enumerated() {
      let bed = try FleetBed()
      let verdict = try bed.attempt(TestBed.right) { try act(bed) }
      #expect(!verdict.isGranted, "\(index)")
    }
    for act in [{ _ = try $0.fail(2, at: "ws1") }, { _ = try $0.fail(1, at: "ws2") }]
      as [(FleetBed) throws -> Void]
    {
      let bed = try FleetBed()
      let verdict = try bed.attempt(TestBed.right) { try act(bed) }
      #expect(verdict.isGranted)
      #expect(try bed.failures() == 0)
    }
    let bed = try FleetBed()
    let repeated = try bed.attempt("1593") { _ = try bed.fail(1, at: "ws2") }
    #expect(repeated == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `who is overtaken between reading and charging starts again, and passes`() throws {
    let bed = try FleetBed()
    var others = 3
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction), others > 0 else { return }
      others -= 1
      #expect((try? bed.attempt(TestBed.right, at: "ws2"))?.isGranted == true)
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.failures() == 0)
    #expect(bed.station("ws1") == 0 && bed.station("ws2") == 0)
  }

  @Test func `three wrong ones in between lock before the fourth is looked at`() throws {
    let bed = try FleetBed()
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction), isFirst else { return }
      isFirst = false
      _ = try? bed.fail(3, at: "ws2")
    }
    guard case .locked(_, 3) = try bed.attempt(TestBed.right) else {
      Issue.record("the lock was decided before the others' charges")
      return
    }
    #expect(try bed.failures() == 3)
  }

  enum Meanwhile: CaseIterable {
    case disabled, removed, replaced, charged
  }

  @Test(arguments: Meanwhile.allCases)
  func `what happens between charge and settling decides`(meanwhile: Meanwhile) throws {
    let bed = try FleetBed()
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isSettling(transaction), isFirst else { return }
      isFirst = false
      switch meanwhile {
      case .disabled: #expect((try? bed.fleet().disable(FleetBed.alice, true)) == true)
      case .removed: #expect((try? bed.fleet().remove(FleetBed.alice)) == true)
      case .replaced: #expect(throws: Never.self) { try bed.enroll("8264") }
      case .charged:
        // As if this one had slept for longer than its lease.
        bed.bed.now += 30_000
        #expect((try? bed.attempt("1593", at: "ws2")) == .wrong(.open(attemptsLeft: 1), failures: 2))
      }
    }
    let verdict = try bed.attempt(TestBed.right)
    switch meanwhile {
    case .disabled: #expect(verdict == .disabled)
    case .removed: #expect(verdict == .notEnrolled)
    case .replaced: #expect(verdict == .unavailable(Fault(.changedMeanwhile)))
    case .charged:
      #expect(verdict.isGranted)
      #expect(try bed.failures() == 2, "a failure that somebody else was charged is never taken back")
    }
    #expect(bed.etcd.value(FleetKeys.busy(FleetBed.alice)) == nil, "the next attempt needn't wait")
  }
}
