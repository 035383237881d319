import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// What a visitor at a workstation's login screen can do to those who work there.
struct FleetStrangerTests {
  private static let ws1 = Bytes(text: "ws1")

  /// One wrong passcode for each of the first so many people; how many were verified.
  private func spray(_ bed: FleetBed, _ people: ArraySlice<Bytes>, at workstation: String = "ws1") throws
    -> Int
  {
    var verified = 0
    for person in people {
      if case .wrong = try bed.attempt(TestBed.wrong[0], person, at: workstation) { verified += 1 }
    }
    return verified
  }

  private func pass(_ bed: FleetBed, days: UInt64) {
    bed.bed.now += days * 86_400_000
    bed.bed.wall += days * 86_400
  }

  @Test func `12 wrong ones for strangers leave the workstation to its owners, until the hour ends`() throws {
    let bed = try FleetBed()
    #expect(try bed.attempt(TestBed.right).isGranted)
    let others = try bed.people(16, at: nil)
    #expect(try spray(bed, others[0..<15]) == 12)
    let writes = bed.etcd.writes
    #expect(try bed.attempt(TestBed.right, others[15]) == .notPermitted(.workstation))
    #expect(try bed.attempt(TestBed.right, others[0]) == .notPermitted(.workstation))
    #expect(bed.etcd.writes == writes && bed.station() == 12 && bed.strangers() == 12)
    #expect(try bed.look() == nil)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.attempt(TestBed.right, others[15], at: "ws2").isGranted)
    bed.bed.now += FleetBed.hour
    #expect(try bed.attempt(TestBed.right, others[15]).isGranted)
  }

  @Test func `owners have the rest, and the sum stays 20`() throws {
    let bed = try FleetBed()
    let owners = try bed.people(10)
    for index in 0..<13 { try bed.enroll(TestBed.right, Bytes(text: "visitor\(index)")) }
    let visitors = (0..<13).map { Bytes(text: "visitor\($0)") }
    #expect(try spray(bed, visitors[...]) == 12)
    #expect(try spray(bed, owners[...]) == 8)
    #expect(bed.station() == 20 && bed.strangers() == 12)
    #expect(try bed.attempt(TestBed.right, owners[9]) == .notPermitted(.workstation))
  }

  @Test func `owners' wrong ones aren't strangers'`() throws {
    let bed = try FleetBed()
    let owners = try bed.people(19)
    #expect(try spray(bed, owners[...]) == 19)
    #expect(bed.station() == 19 && bed.strangers() == 0)
    #expect(try bed.attempt(TestBed.right).isGranted, "a stranger, for whom there is one left")
  }

  @Test func `a correct one is no longer counted, and makes its owner known there`() throws {
    let bed = try FleetBed()
    let others = try bed.people(14, at: nil)
    #expect(try spray(bed, others[0..<11]) == 11)
    #expect(try bed.attempt(TestBed.right, others[11]).isGranted)
    #expect(bed.strangers() == 11 && bed.station() == 11)
    #expect(try spray(bed, others[12..<14]) == 1)
    #expect(try bed.attempt(TestBed.right, others[13]) == .notPermitted(.workstation))
    #expect(try bed.attempt(TestBed.right, others[11]).isGranted)
  }

  @Test func `who was let in is written once a day, and forgotten after 30 days`() throws {
    let bed = try FleetBed()
    #expect(bed.owners() == nil)
    #expect(try bed.attempt(TestBed.right).isGranted)
    let noted = try #require(bed.owners())
    #expect(noted.count == 23)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.owners() == noted)
    pass(bed, days: 1)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.owners()?.count == 23 && bed.owners() != noted)
    let others = try bed.people(12, at: nil)
    pass(bed, days: 30)
    #expect(try spray(bed, others[...]) == 12)
    #expect(try bed.attempt(TestBed.right).isGranted)
    pass(bed, days: 31)
    #expect(try spray(bed, others[...]) == 12)
    #expect(try bed.attempt(TestBed.right) == .notPermitted(.workstation))
  }

  @Test func `nobody can tell from the list who is in it without the fleet key`() throws {
    let bed = try FleetBed()
    for workstation in ["ws1", "ws2"] { #expect(try bed.attempt(TestBed.right, at: workstation).isGranted) }
    let (here, there) = (try #require(bed.owners("ws1")), try #require(bed.owners("ws2")))
    #expect(here.prefix(16) != there.prefix(16))
    let other = try FleetBed()
    #expect(try other.attempt(TestBed.right).isGranted)
    #expect(try #require(other.owners()).prefix(16) != here.prefix(16))
  }

  @Test func `two who are let in at once are both noted`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    bed.meanwhile(.settling) {
      let verdict = try bed.attempt("8264", bob)
      #expect(verdict.isGranted)
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.owners()?.count == 46 && bed.station() == 0)
    #expect(try bed.failures() == 0)
    #expect(try bed.failures(bob) == 0)
  }

  @Test func `a list that can't be read is empty, and written anew`() throws {
    let bed = try FleetBed()
    #expect(try bed.attempt(TestBed.right).isGranted)
    let list = EtcdTransaction([.put(FleetKeys.owners(Self.ws1), value: Bytes(text: "x"), lease: 0)])
    #expect(bed.etcd.commit(list)?.succeeded == true)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.owners()?.count == 23)
  }

  @Test func `never more for strangers than their part, whatever answers are lost`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      let bed = try FleetBed()
      let others = try bed.people(20, at: nil)
      bed.etcd.mishap = { _ in [nil, nil, nil, .lost, .cut, .late].randomElement(using: &generator) ?? nil }
      let verified = try spray(bed, others[...])
      #expect(verified <= 12 && bed.strangers() <= 12 && bed.strangers() >= verified)
    }
  }

  @Test func `a stranger waits for another one who is being checked, and may still be right`() throws {
    let bed = try FleetBed()
    let others = try bed.people(13, at: nil)
    #expect(try spray(bed, others[0..<11]) == 11)
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isSettling(transaction, others[11]), isFirst else { return }
      isFirst = false
      let start = bed.bed.now
      let verdict = try? bed.attempt(TestBed.right, others[12])
      #expect(verdict == .notPermitted(.workstation))
      #expect(bed.bed.now - start >= 19_000, "it didn't wait for the one that is under way")
    }
    #expect(try bed.attempt(TestBed.right, others[11]).isGranted)
    #expect(try bed.attempt(TestBed.right, others[12]).isGranted)
  }

  @Test func `an administrator sets another limit, sees what is used up, and ends it`() throws {
    let bed = try FleetBed()
    bed.options.stationLimit = 10
    let others = try bed.people(8, at: nil)
    #expect(try spray(bed, others[...]) == 6)
    #expect(try bed.fleet().station(Self.ws1) == StationReport(6, of: 10, strangers: 6, forOwners: 3_660))
    #expect(try bed.attempt(TestBed.right, others[7]) == .notPermitted(.workstation))
    #expect(try bed.fleet().unlock(station: Self.ws1))
    #expect(try bed.fleet().station(Self.ws1) == nil)
    #expect(try bed.attempt(TestBed.right, others[7]).isGranted)
    #expect(try bed.attempt(TestBed.wrong[1], others[0]) == .wrong(.open(attemptsLeft: 1), failures: 2))
    #expect(bed.strangers() == 1, "the earlier ones don't count")
  }

  @Test func `a code is no way around it`() throws {
    let bed = try FleetBed()
    let others = try bed.people(12, at: nil)
    let bob = Bytes(text: "bob")
    try bed.invite(bob, seconds: 7_200)
    #expect(try spray(bed, others[...]) == 12)
    #expect(try bed.enroll(byCode: FleetBed.code, bob) == .refused(.notPermitted(.workstation)))
    bed.bed.now += FleetBed.hour
    #expect(try bed.enroll(byCode: FleetBed.code, bob) == .done)
  }
}

extension StationReport {
  init(
    _ failures: UInt64, of limit: UInt64 = 20, strangers: UInt64, stopped: UInt64? = nil,
    forOwners: UInt64? = nil
  ) {
    self.init(
      failures: failures, limit: limit, strangers: strangers, secondsStopped: stopped,
      secondsForOwners: forOwners)
  }
}
