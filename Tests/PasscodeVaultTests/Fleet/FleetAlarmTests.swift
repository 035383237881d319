import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetAlarmTests {
  @Test func `accounts are counted, from all workstations, until a correct one or the hour ends`() throws {
    let bed = try FleetBed()
    let people = try bed.people(9)
    for (index, person) in people.enumerated() {
      _ = try bed.attempt(TestBed.wrong[0], person, at: "ws\(index % 3)")
    }
    for code in TestBed.wrong[1...2] { _ = try bed.attempt(code, people[0]) }
    #expect(try bed.fleet().accountsWithWrong() == 9)
    for person in people[1...3] { #expect(try bed.attempt(TestBed.right, person).isGranted) }
    #expect(try bed.fleet().accountsWithWrong() == 6)
    bed.bed.now += FleetBed.hour
    #expect(try bed.fleet().accountsWithWrong() == 0)
  }

  @Test func `at the end of a workstation's hour they are counted for an hour, too`() throws {
    let bed = try FleetBed()
    let people = try bed.people(4)
    _ = try bed.attempt(TestBed.wrong[0], people[0])
    bed.bed.now += FleetBed.hour - 18_000
    for person in people[1...] { _ = try bed.attempt(TestBed.wrong[0], person) }
    bed.bed.now += 30_000
    #expect(bed.station() == 0)
    #expect(try bed.fleet().accountsWithWrong() == 3)
  }

  @Test func `who was unlocked, or has another passcode, is no longer counted`() throws {
    let bed = try FleetBed()
    let people = try bed.people(3)
    for person in people { _ = try bed.attempt(TestBed.wrong[0], person) }
    _ = try bed.fleet().unlock(people[0])
    try bed.enroll("8264", people[1])
    try bed.invite(people[2])
    #expect(try bed.fleet().accountsWithWrong() == 1)
    #expect(try bed.enroll(byCode: FleetBed.code, people[2]) == .done)
    #expect(try bed.fleet().accountsWithWrong() == 0)
  }

  @Test func `a correct passcode that comes while a wrong one is being released ends its count`() throws {
    let bed = try FleetBed()
    bed.meanwhile(.release) {
      bed.bed.now += 30_000
      _ = try bed.attempt(TestBed.right)
    }
    _ = try bed.attempt(TestBed.wrong[0])
    #expect(try bed.failures() == 0 && bed.fleet().accountsWithWrong() == 0)
  }

  @Test func `the alarm is given once an hour, by one server, and stops nobody`() throws {
    let bed = try FleetBed()
    bed.options.alarmAccounts = 5
    let people = try bed.people(9)
    for person in people[0..<4] { _ = try bed.attempt(TestBed.wrong[0], person) }
    #expect(try bed.fleet().alarm() == nil)
    for person in people[4...] { _ = try bed.attempt(TestBed.wrong[0], person) }
    #expect(try bed.fleet().alarm() == 9)
    #expect(try bed.fleet().alarm() == nil)
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.bed.now += FleetBed.hour
    for person in people[0..<5] { _ = try bed.attempt(TestBed.wrong[1], person) }
    #expect(try bed.fleet().alarm() == 5)
  }

  @Test func `an undisturbed login writes nothing for it`() throws {
    let bed = try FleetBed()
    #expect(try bed.attempt(TestBed.right).isGranted)
    let before = bed.etcd.writes
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.etcd.writes - before == 2, "the charge and the settling")
    #expect(bed.etcd.value(FleetKeys.wrong(FleetBed.alice)) == nil)
  }
}
