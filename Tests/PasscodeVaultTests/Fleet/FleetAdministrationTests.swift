import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetAdministrationTests {
  @Test func `unlocking ends a delay everywhere`() throws {
    let bed = try FleetBed()
    try bed.fail(3)
    #expect(try bed.fleet().status(FleetBed.alice).state == .locked)
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    #expect(try bed.fleet().unlock(FleetBed.alice) == false)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.fleet().unlock(Bytes(text: "bob")) == nil)
  }

  @Test func `unlocking doesn't go on while an attempt is under way`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    bed.etcd.set(FleetKeys.busy(FleetBed.alice), Bytes(text: "another's"))
    let start = bed.bed.now
    #expect(reason { try bed.fleet().unlock(FleetBed.alice) } == .busyRecord)
    #expect(try bed.failures() == 2 && bed.bed.now - start >= 30_000)
  }

  @Test func `a new passcode ends the old one, and being disabled stays`() throws {
    let bed = try FleetBed()
    try bed.fail(3)
    #expect(try bed.fleet().disable(FleetBed.alice, true) == true)
    #expect(try bed.fleet().disable(FleetBed.alice, true) == false)
    try bed.enroll("8264")
    #expect(try bed.attempt("8264") == .disabled)
    #expect(try bed.fleet().disable(FleetBed.alice, false) == true)
    #expect(try bed.attempt("8264").isGranted)
    #expect(try bed.attempt(TestBed.right) == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `removed is not enrolled, and disabled beyond that`() throws {
    let bed = try FleetBed()
    #expect(try bed.fleet().disable(FleetBed.alice, true) == true)
    #expect(try bed.fleet().remove(FleetBed.alice) == true)
    #expect(try bed.fleet().remove(FleetBed.alice) == false)
    #expect(try bed.attempt(TestBed.right) == .notEnrolled && bed.look() == .notEnrolled)
    try bed.enroll()
    #expect(try bed.attempt(TestBed.right) == .disabled)
  }

  @Test func `a weak choice is refused, and writes nothing`() throws {
    let bed = try FleetBed()
    let writes = bed.etcd.writes
    #expect(weakness { try bed.enroll("1234") } == .run)
    #expect(bed.etcd.writes == writes)
  }

  @Test func `a proof of the old passcode replaces only the passcode that was proven`() throws {
    let bed = try FleetBed()
    var secrets = try bed.secrets(TestBed.right)
    var login = FleetLogin(
      try bed.fleet(), account: FleetBed.alice, workstation: Bytes(text: "ws1"), service: [])
    let verdict = secrets.attempt(&login)
    #expect(verdict.isGranted)
    let proven = login.provenMark
    let mark = try #require(proven)
    try bed.enroll("8264", by: .passcode(mark))
    #expect(try bed.attempt("8264").isGranted)
    #expect(reason { try bed.enroll("9375", by: .passcode(mark)) } == .changedMeanwhile)
    #expect(try bed.attempt("8264").isGranted)
  }

  @Test func `an act whose answer was lost was done, and one that was cut was not`() throws {
    let bed = try FleetBed()
    try bed.fail(1)
    bed.etcd.mishap = { _ in .lost }
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    #expect(try bed.failures() == 0)
    bed.etcd.mishap = { _ in .cut }
    #expect(reason { try bed.fleet().disable(FleetBed.alice, true) } == .noEtcd)
    bed.etcd.mishap = { _ in nil }
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `a workstation isn't told when somebody has logged in, or where`() throws {
    let bed = try FleetBed()
    _ = try bed.attempt(TestBed.right)
    try bed.fail(1)
    let status = try bed.fleet().status(FleetBed.alice)
    #expect(status.lastSuccess > 0 && status.lastFailure > 0 && !status.failureService.isEmpty)
    let told = status.forWorkstation
    #expect(told.isEnrolled && told.failures == 1 && told.state == .ok)
    #expect(told.enrolledAt == 0 && told.lastSuccess == 0 && told.lastFailure == 0)
    #expect(told.failureService.isEmpty)
  }
}
