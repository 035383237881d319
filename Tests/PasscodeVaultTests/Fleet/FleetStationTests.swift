import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetStationTests {
  private func people(_ count: Int, _ bed: FleetBed) throws -> [Bytes] { try bed.people(count) }

  @Test func `after 20 wrong ones over all accounts a workstation is stopped for an hour, and only it`()
    throws
  {
    let bed = try FleetBed()
    let people = try people(12, bed)
    for index in 0..<20 {
      let verdict = try bed.attempt(TestBed.wrong[index % 2], people[index / 2])
      guard case .wrong = verdict else {
        Issue.record("\(index): \(verdict)")
        return
      }
    }
    let writes = bed.etcd.writes
    #expect(try bed.attempt(TestBed.right, people[11]) == .notPermitted(.workstation))
    let left = try #require(try bed.fleet().station(Bytes(text: "ws1"))?.secondsStopped)
    #expect((3_590...3_600).contains(left))
    #expect(bed.etcd.writes == writes)
    #expect(try bed.attempt(TestBed.right, people[11], at: "ws2").isGranted)
    bed.bed.now += FleetBed.hour
    #expect(try bed.attempt(TestBed.right, people[11]).isGranted)
  }

  @Test func `right ones never use it up`() throws {
    let bed = try FleetBed()
    for _ in 0..<45 { #expect(try bed.attempt(TestBed.right).isGranted) }
    #expect(bed.station() == 0)
  }

  @Test func `where etcd is full, a look says so before a passcode is typed`() throws {
    let bed = try FleetBed()
    #expect(try bed.look() == nil)
    bed.etcd.isFull = true
    let full = Fault(.failed, path: Bytes(text: "etcd"), error: ENOSPC)
    #expect(try bed.look() == .unavailable(full))
  }

  @Test func `wrong ones of an hour ago don't count`() throws {
    let bed = try FleetBed()
    let people = try people(12, bed)
    for index in 0..<19 { _ = try bed.attempt(TestBed.wrong[index % 2], people[index / 2]) }
    #expect(bed.station() == 19)
    bed.bed.now += FleetBed.hour
    #expect(try bed.attempt("6048", people[11]) == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(bed.station() == 1)
  }

  @Test func `the hour ends, though right ones come after the 19th wrong one`() throws {
    let bed = try FleetBed()
    let people = try people(12, bed)
    for index in 0..<19 { _ = try bed.attempt(TestBed.wrong[index % 2], people[index / 2]) }
    for _ in 0..<4 {
      bed.bed.now += 3_000_000
      #expect(try bed.attempt(TestBed.right, people[11]).isGranted)
    }
    #expect(bed.station() == 0)
    #expect(try bed.attempt("6048", people[11]) == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(bed.station() == 1)
  }

  @Test func `the hour ends, too, while the 20th is being checked and turns out right`() throws {
    let bed = try FleetBed()
    let people = try people(12, bed)
    for index in 0..<19 { _ = try bed.attempt(TestBed.wrong[index % 2], people[index / 2]) }
    bed.bed.now += FleetBed.hour - 8_000
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isSettling(transaction, people[11]), isFirst else { return }
      isFirst = false
      bed.bed.now += 8_000
    }
    #expect(try bed.attempt(TestBed.right, people[11]).isGranted)
    #expect(!isFirst && bed.station() == 0)
    #expect(try bed.failures(people[11]) == 0)
  }

  @Test func `a right one takes nothing back from an hour that began meanwhile`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    bed.meanwhile(.settling) {
      bed.bed.now += FleetBed.hour
      let verdict = try bed.attempt("1593", bob)
      #expect(verdict == .wrong(.open(attemptsLeft: 2), failures: 1))
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.station() == 1, "bob's, of the new hour")
  }

  @Test func `one person can't stop a workstation for others`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    var last: Verdict?
    for _ in 0..<10 {
      for code in [TestBed.wrong[0], TestBed.wrong[1], TestBed.right] { last = try bed.attempt(code) }
    }
    #expect(last == .notPermitted(.workstation) && bed.station() == 8)
    #expect(try bed.attempt("8264", bob).isGranted)
    #expect(try bed.attempt(TestBed.right, at: "ws2").isGranted, "she is locked at this workstation alone")
    bed.bed.now += FleetBed.hour
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.station() == 0)
  }

  @Test func `right ones leave nothing of an account's count`() throws {
    let bed = try FleetBed()
    let key = FleetKeys.station(Bytes(text: "ws1"), account: FleetBed.alice)
    for index in 0..<2 {
      _ = try bed.attempt(TestBed.wrong[index])
      _ = try bed.attempt(TestBed.right)
      #expect(bed.etcd.value(key).flatMap { StationCount($0)?.failures } == UInt64(index + 1))
    }
    bed.bed.now += FleetBed.hour
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.etcd.value(key) == nil)
  }

  /// One more than the budget has room for waits for those that are being checked: it may turn out that they are right.
  @Test func `beyond the last one, attempts that are under way are waited for`() throws {
    let bed = try FleetBed()
    let people = try people(12, bed)
    for index in 0..<19 { _ = try bed.attempt(TestBed.wrong[index % 2], people[index / 2]) }
    var isFirst = true
    var other: Verdict?
    bed.etcd.before = { transaction in
      // The 20th is right, and not settled yet. Meanwhile another one comes, which settles only after it has waited.
      guard FleetBed.isSettling(transaction, people[10]), isFirst else { return }
      isFirst = false
      let start = bed.bed.now
      other = try? bed.attempt(TestBed.right, people[11])
      #expect(bed.bed.now - start >= 19_000, "it didn't wait for the one that is under way")
    }
    #expect(try bed.attempt(TestBed.right, people[10]).isGranted)
    // Here the 20th never came back while the other one waited, so after its lease it counts as wrong.
    #expect(other == .notPermitted(.workstation))
    #expect(bed.station() == 19, "the 20th took its own charge back, late")
    #expect(try bed.attempt(TestBed.right, people[11]).isGranted)
  }

  @Test func `never more than the budget, whatever answers are lost`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      let bed = try FleetBed()
      let people = try people(30, bed)
      bed.etcd.mishap = { _ in [nil, nil, nil, .lost, .cut, .late].randomElement(using: &generator) ?? nil }
      var decided = 0
      for person in people {
        if case .wrong = try bed.attempt("1593", person) { decided += 1 }
      }
      #expect(decided <= 20)
      #expect(bed.station() <= 20 && bed.station() >= decided)
    }
  }

  @Test func `an administrator sees that a workstation is stopped, and ends that, for its accounts, too`()
    throws
  {
    let bed = try FleetBed()
    let people = try people(12, bed)
    let station = Bytes(text: "ws1")
    #expect(try bed.fleet().station(station) == nil)
    #expect(try bed.fleet().unlock(station: station) == false)
    for _ in 0..<4 {
      for code in [TestBed.wrong[0], TestBed.wrong[1], TestBed.right] { _ = try bed.attempt(code) }
    }
    #expect(try bed.fleet().station(station) == StationReport(8, strangers: 2))
    for index in 0..<12 { _ = try bed.attempt(TestBed.wrong[0], people[index]) }
    #expect(try bed.fleet().station(station) == StationReport(20, strangers: 2, stopped: 3_600))
    #expect(try bed.fleet().unlock(station: station) == true)
    #expect(try bed.fleet().station(station) == nil)
    #expect(try bed.attempt(TestBed.right).isGranted, "her own count there has ended, too")
    #expect(try bed.failures(people[3]) == 1, "an account's own failures stay")
  }

  @Test func `a right one that is being checked while the workstation is unlocked passes`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isSettling(transaction), isFirst else { return }
      isFirst = false
      #expect((try? bed.fleet().unlock(station: Bytes(text: "ws1"))) == true)
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.failures() == 0 && bed.station() == 0)
  }
}
