import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeVault

/// MUST 13: passcodes that an administrator gave out.
struct TermsAttemptTests {
  private static let day: UInt64 = 86_400
  private static let own = "8264"

  private func bed(days: UInt64 = 0, mustChange: Bool = false) throws -> TestBed {
    let bed = try TestBed(enrolled: false)
    var terms = NewTerms()
    terms.seconds = days * Self.day
    terms.mustChange = mustChange
    try bed.enroll(TestBed.right, on: terms)
    return bed
  }

  // MARK: Expiry

  @Test func `until it expires it is a passcode like any other`() throws {
    let bed = try bed(days: 7)
    bed.wall += 7 * Self.day - 1
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.status().state == .ok && bed.status().expiresAt == bed.wall + 1)
    bed.wall += 1
    for purpose in [Purpose.login, .change] {
      #expect(try bed.look(purpose) == .expired)
      #expect(try bed.attempt(TestBed.right, purpose) == .expired)
      #expect(try bed.attempt(TestBed.wrong[0], purpose) == .expired)
    }
    #expect(try bed.status().failures == 0, "counted")
    #expect(try bed.status().state == .expired)
  }

  @Test(arguments: ["look", "attempt", "status"])
  func `whoever sees it expired ends it, and no clock brings it back`(by: String) throws {
    let bed = try bed(days: 7)
    bed.wall += 7 * Self.day
    switch by {
    case "look": #expect(try bed.look() == .expired)
    case "attempt": #expect(try bed.attempt(TestBed.right) == .expired)
    default: #expect(try bed.status().state == .expired)
    }
    let ended = try bed.record()
    for wall in [0, 1, bed.wall - 7 * Self.day, bed.wall - 1] {
      bed.wall = wall
      for reboots in [false, true] {
        if reboots { bed.reboot() }
        #expect(try bed.look() == .expired)
        #expect(try bed.attempt(TestBed.right) == .expired)
        #expect(try bed.status().state == .expired)
      }
    }
    #expect(try bed.record() == ended, "written once")
  }

  @Test func `time since boot ends it where the wall clock stands or goes back`() throws {
    let bed = try bed(days: 1)
    bed.wall -= 10 * Self.day
    bed.now += Self.day * 1_000 - 1
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.now += 1
    #expect(try bed.attempt(TestBed.right) == .expired)
  }

  @Test func `another boot counts on from the last look`() throws {
    let bed = try bed(days: 1)
    bed.now += 12 * 3_600_000
    bed.wall += 12 * 3_600
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.reboot()
    bed.wall = 0
    bed.now = 5
    #expect(try bed.look() == nil)
    bed.now += 12 * 3_600_000 - 1_000
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.now += 2_000
    #expect(try bed.attempt(TestBed.right) == .expired)
  }

  @Test func `without a clock nothing is decided`() throws {
    let bed = try bed(days: 1)
    bed.wall += Self.day
    bed.clockFails = true
    guard case .unavailable(let fault) = try bed.attempt(TestBed.right), fault.reason == .noBootClock else {
      Issue.record("decided without a clock")
      return
    }
  }

  @Test func `without a clock nothing is given out on terms, and all else is enrolled`() throws {
    let bed = try bed()
    bed.clockFails = true
    var terms = NewTerms()
    terms.seconds = Self.day
    let before = try bed.record()
    #expect(reason { try bed.enroll(Self.own, on: terms) } == .noBootClock)
    #expect(try bed.record() == before)
    try bed.enroll(Self.own)
    bed.clockFails = false
    #expect(try bed.attempt(Self.own).isGranted)
  }

  @Test func `neither unlocking nor enabling revives it, enrolling does`() throws {
    let bed = try bed(days: 1)
    try bed.fail(2)
    bed.wall += Self.day
    _ = try bed.vault.unlock(bed.account, by: .direct)
    _ = try bed.vault.disable(bed.account, true)
    #expect(try bed.look() == .disabled)
    _ = try bed.vault.disable(bed.account, false)
    #expect(try bed.attempt(TestBed.right) == .expired)
    try bed.enroll(TestBed.right)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.status().expiresAt == nil)
  }

  @Test func `a change whose proof came in time is not written after the end`() throws {
    let bed = try bed(days: 1)
    #expect(try bed.attempt(TestBed.right, .change).isGranted)
    let proof = Authority.passcode(try bed.mark())
    bed.wall += Self.day
    #expect(throws: EnrolmentError.fault(Fault(.expiredMeanwhile))) { try bed.enroll(Self.own, by: proof) }
    bed.wall = 0
    #expect(try bed.attempt(TestBed.right) == .expired, "the end is on the disk")
    // The password proves more than the old passcode.
    try bed.enroll(Self.own, by: .password)
    #expect(try bed.attempt(Self.own).isGranted)
  }

  @Test func `while another process has the record, nobody is told of an end that isn't on the disk`() throws
  {
    let bed = try bed(days: 1)
    bed.wall += Self.day
    let before = try bed.record()
    do {
      let holder = try bed.hold()
      #expect(try bed.status().state == .ok)
      #expect(try bed.record() == before)
      withExtendedLifetime(holder) {}
    }
    #expect(try bed.status().state == .expired)
    let holder = try bed.hold()
    #expect(try bed.status().state == .expired, "now it is on the disk")
    withExtendedLifetime(holder) {}
  }

  // MARK: One login

  @Test func `it opens one login, and from then on only a change`() throws {
    let bed = try bed(mustChange: true)
    #expect(try bed.status().state == .ok && bed.status().mustChange)
    #expect(try bed.attempt(TestBed.right).isGranted)
    let spent = try bed.record()
    for _ in 0..<3 {
      #expect(try bed.look() == .mustChange)
      #expect(try bed.attempt(TestBed.right) == .mustChange)
      #expect(try bed.attempt(TestBed.wrong[0]) == .mustChange)
    }
    #expect(try bed.record() == spent, "refused, and something was written")
    #expect(try bed.status().state == .mustChange && bed.status().mustChange)
    #expect(try bed.look(.change) == nil)
    #expect(try bed.attempt(TestBed.right, .change).isGranted)
    try bed.enroll(Self.own, by: .passcode(try bed.mark()))
    for _ in 0..<2 { #expect(try bed.attempt(Self.own).isGranted) }
    #expect(try bed.status().mustChange == false)
  }

  @Test func `a change that comes to nothing spends nothing`() throws {
    let bed = try bed(mustChange: true)
    for _ in 0..<2 { #expect(try bed.attempt(TestBed.right, .change).isGranted) }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.attempt(TestBed.right) == .mustChange)
  }

  @Test func `a wrong passcode spends nothing, and the lock goes on counting for a change`() throws {
    let bed = try bed(mustChange: true)
    try bed.fail(1)
    #expect(try bed.attempt(TestBed.right).isGranted)
    for index in 0..<3 { _ = try bed.attempt(TestBed.wrong[index], .change) }
    #expect(try bed.look(.change) == .locked(milliseconds: 60_000, failures: 3))
    #expect(try bed.look() == .locked(milliseconds: 60_000, failures: 3))
    _ = try bed.vault.unlock(bed.account, by: .direct)
    #expect(try bed.look() == .mustChange, "an unlock gives no second login")
  }

  @Test(arguments: [0, 1])
  func `damage to one copy brings the login back from neither`(copy: Int) throws {
    let bed = try bed(mustChange: true)
    #expect(try bed.attempt(TestBed.right).isGranted)
    try bed.damage(copy)
    #expect(try bed.attempt(TestBed.right) == .mustChange)
  }

  @Test func `both terms hold, and a change ends both`() throws {
    let bed = try bed(days: 1, mustChange: true)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.look() == .mustChange)
    try bed.enroll(Self.own, by: .passcode(try bed.mark()))
    bed.wall += 2 * Self.day
    #expect(try bed.attempt(Self.own).isGranted)
    let late = try self.bed(days: 1, mustChange: true)
    late.wall += Self.day
    #expect(try late.look() == .expired && late.look(.change) == .expired)
  }

  @Test func `a second factor that was given out stays an administrator's when it is changed`() throws {
    let bed = try bed(mustChange: true)
    // A person's own store has no root.
    try bed.change { $0.enrolledBy = .root }
    bed.isSecondFactor = true
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.look() == .mustChange)
    try bed.enroll(Self.own, by: .passcode(try bed.mark()))
    #expect(try bed.attempt(Self.own).isGranted)
  }
}
