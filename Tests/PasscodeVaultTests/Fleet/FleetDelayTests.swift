import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// A delay is never shorter than the schedule says, wherever the verifier is stopped.
struct FleetDelayTests {
  /// The first delay of the schedule, in milliseconds.
  private static let delay: UInt64 = 60_000

  private static func startsDelay(_ transaction: EtcdTransaction) -> Bool {
    transaction.actions.contains {
      if case .put(FleetKeys.wait(FleetBed.alice), _, _) = $0 { true } else { false }
    }
  }

  private func expectLocked(_ bed: FleetBed, from charged: UInt64) throws {
    while bed.bed.now < charged + FleetDelayTests.delay {
      guard case .locked? = try bed.look() else {
        Issue.record("open \(bed.bed.now - charged) ms after the charge")
        return
      }
      bed.bed.now += 1_000
    }
  }

  @Test(arguments: [8_000, 12_000, 18_000] as [UInt64])
  func `a charge that comes late shortens no delay`(late: UInt64) throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var charged: UInt64 = 0
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction) else { return }
      bed.bed.now += late
      charged = bed.bed.now
    }
    #expect(try bed.attempt(TestBed.wrong[2]) == .wrong(.locked(milliseconds: 60_000), failures: 3))
    bed.etcd.before = { _ in }
    try expectLocked(bed, from: charged)
  }

  @Test(arguments: [8_000, 18_000] as [UInt64])
  func `nor does one that is late and whose answer is lost`(late: UInt64) throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var charged: UInt64 = 0
    bed.etcd.mishap = { transaction in
      guard FleetBed.isCharge(transaction) else { return nil }
      bed.bed.now += late
      charged = bed.bed.now
      return .lost
    }
    // With 18 s, `busy` may end before the hash does: nothing is verified then.
    let verdict = try bed.attempt(TestBed.wrong[2])
    #expect(
      verdict
        == (late < 10_000 ? .wrong(.locked(milliseconds: 60_000), failures: 3) : .unavailable(Fault.noEtcd)))
    #expect(try bed.failures() == 3)
    bed.etcd.mishap = { _ in nil }
    try expectLocked(bed, from: charged)
  }

  @Test func `nor does a fresh lease that is late itself`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var charged: UInt64 = 0
    var late = 2
    bed.etcd.before = { transaction in
      guard FleetDelayTests.startsDelay(transaction), late > 0 else { return }
      late -= 1
      bed.bed.now += 8_000
      if FleetBed.isCharge(transaction) { charged = bed.bed.now }
    }
    #expect(try bed.attempt(TestBed.wrong[2]) == .wrong(.locked(milliseconds: 60_000), failures: 3))
    #expect(late == 0)
    bed.etcd.before = { _ in }
    try expectLocked(bed, from: charged)
  }

  /// It slept for longer than the delay, and others have charged since: that its delay was too short can't be helped any
  /// more, so it verifies nothing.
  @Test func `an attempt that lost its delay while it was stopped verifies nothing`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var hasSlept = false
    bed.etcd.before = { transaction in
      if FleetBed.isCharge(transaction) { bed.bed.now += hasSlept ? 0 : 18_000 }
      guard FleetDelayTests.startsDelay(transaction), !FleetBed.isCharge(transaction), !hasSlept else {
        return
      }
      hasSlept = true
      bed.bed.now += 70_000
      #expect(
        (try? bed.attempt(TestBed.wrong[3], at: "ws2")) == .wrong(.locked(milliseconds: 60_000), failures: 4))
    }
    #expect(try bed.attempt(TestBed.right) == .unavailable(Fault(.changedMeanwhile)))
    #expect(hasSlept)
    #expect(try bed.failures() == 4)
  }

  @Test func `no answer about the delay, and nothing is verified`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    bed.etcd.before = { if FleetBed.isCharge($0) { bed.bed.now += 18_000 } }
    bed.etcd.mishap = {
      FleetDelayTests.startsDelay($0) && !FleetBed.isCharge($0) ? .cut : nil
    }
    #expect(try bed.attempt(TestBed.right) == .unavailable(Fault.noEtcd))
    #expect(try bed.failures() == 3)
    #expect(bed.etcd.value(FleetKeys.busy(FleetBed.alice)) == nil, "the next attempt needn't wait for it")
  }

  @Test func `what is told is what is left after the hash`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var asked = 0
    bed.etcd.beforeTimeLeft = {
      asked += 1
      if asked == 3 { bed.bed.now += 27_000 }
    }
    #expect(try bed.attempt(TestBed.wrong[2]) == .wrong(.locked(milliseconds: 40_000), failures: 3))
  }
}
