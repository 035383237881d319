import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetLoginTests {
  private let noEtcd = Verdict.unavailable(Fault.noEtcd)

  @Test func `the right passcode is granted and resets the failures`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    let verdict = try bed.attempt(TestBed.right)
    #expect(
      verdict == .granted(FailedAttempts(count: 2, time: bed.bed.wall, service: Bytes(text: "sudo"))))
    #expect(try bed.failures() == 0)
    #expect(bed.station() == 2, "a right passcode takes back its own charge, and nobody else's")
    #expect(try bed.look() == nil)
  }

  @Test func `wrong ones are counted down wherever they are typed, and then lock everywhere`() throws {
    let bed = try FleetBed()
    #expect(try bed.attempt(TestBed.wrong[0], at: "ws1") == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(try bed.attempt(TestBed.wrong[1], at: "ws2") == .wrong(.open(attemptsLeft: 1), failures: 2))
    #expect(
      try bed.attempt(TestBed.wrong[2], at: "ws3") == .wrong(.locked(milliseconds: 60_000), failures: 3))
    for workstation in ["ws1", "ws4"] {
      guard case .locked(let left, 3) = try bed.attempt(TestBed.right, at: workstation) else {
        Issue.record("not locked at \(workstation)")
        continue
      }
      #expect((55_000...60_000).contains(left))
    }
    #expect(try bed.failures() == 3)
  }

  @Test func `the whole schedule ends with a time, and each delay is at least as long`() throws {
    let bed = try FleetBed()
    let delays: [UInt64] = [0, 0, 60, 60, 300, 300, 900, 900, 3_600, 28_800]
    for (index, delay) in delays.enumerated() {
      let verdict = try bed.attempt(TestBed.wrong[index], at: "ws\(index)")
      guard case .wrong(let standing, let failures) = verdict else {
        Issue.record("\(index): \(verdict)")
        return
      }
      #expect(failures == index + 1)
      if delay > 0 {
        #expect(standing == .locked(milliseconds: delay * 1_000))
        bed.bed.now += delay * 1_000 - 1
        guard case .locked? = try bed.look() else {
          Issue.record("unlocked too early")
          return
        }
        bed.bed.now += 8_000
      }
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `an id is drawn for each charge`() throws {
    let bed = try FleetBed()
    var ids: Set<Bytes> = []
    for index in 0..<2 {
      _ = try bed.attempt(TestBed.wrong[index])
      let id = try #require(try bed.record()).record.attemptID
      #expect(id.count == 16 && ids.insert(id).inserted)
    }
  }

  @Test func `without etcd nothing is decided`() throws {
    let bed = try FleetBed()
    bed.etcd.isDown = true
    #expect(try bed.attempt(TestBed.right) == noEtcd)
    #expect(try bed.look() == noEtcd)
    #expect(reason { try bed.fleet().status(FleetBed.alice) } == .noEtcd)
  }

  @Test func `etcd lost between charge and answer never makes a right passcode wrong`() throws {
    let bed = try FleetBed()
    bed.etcd.before = { if FleetBed.isSettling($0) { bed.etcd.isDown = true } }
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.etcd.before = { _ in }
    bed.etcd.isDown = false
    #expect(try bed.failures() == 1, "the charge stays")
    bed.bed.now += 26_000
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.failures() == 0)
  }

  @Test(arguments: [FakeEtcd.Mishap.lost, .cut, .late])
  func `a settling that isn't acknowledged changes no verdict`(mishap: FakeEtcd.Mishap) throws {
    let bed = try FleetBed()
    bed.etcd.mishap = { FleetBed.isSettling($0) ? mishap : nil }
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  /// A verifier that died between charge and answer: no answer, a charge, and the next attempt goes on after its lease.
  @Test func `killed after the charge, the attempt counts and the account is free again`() throws {
    let bed = try FleetBed()
    let id = Bytes(repeating: 5, count: 16)
    var record = try #require(try bed.record())
    record.record.ledger = Ledger.clear.charged(at: .never)
    record.record.attemptID = id
    bed.etcd.set(FleetKeys.record(FleetBed.alice), record.encoded(recordCodec))
    let lease = try #require(bed.etcd.grantLease(seconds: 20))
    _ = bed.etcd.commit(EtcdTransaction([.put(FleetKeys.busy(FleetBed.alice), value: id, lease: lease)]))
    let start = bed.bed.now
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.bed.now - start >= 19_000, "it waited for the other one's lease")
    #expect(try bed.failures() == 0)
  }

  @Test func `an attempt that hangs holds nobody up for longer than half a minute`() throws {
    let bed = try FleetBed()
    bed.etcd.set(FleetKeys.busy(FleetBed.alice), [1])
    let start = bed.bed.now
    guard case .unavailable(let fault) = try bed.attempt(TestBed.right) else {
      Issue.record("decided")
      return
    }
    #expect(fault.reason == .busyRecord && bed.bed.now - start < 31_000)
    #expect(try bed.failures() == 0)
  }

  // MARK: Refusals

  @Test func `while locked or disabled nothing is written`() throws {
    let bed = try FleetBed()
    try bed.fail(3)
    let locked = bed.etcd.writes
    for code in [TestBed.right, "6048"] {
      guard case .locked = try bed.attempt(code) else {
        Issue.record("not locked")
        return
      }
    }
    #expect(bed.etcd.writes == locked)
    #expect(try bed.fleet().disable(FleetBed.alice, true) == true)
    let disabled = bed.etcd.writes
    #expect(try bed.attempt(TestBed.right) == .disabled && bed.look() == .disabled)
    #expect(bed.etcd.writes == disabled)
  }

  @Test(arguments: ["root", "", "bob", "alice/wait", "alice\n", String(repeating: "a", count: 256)])
  func `who has no passcode in the fleet is never granted one`(name: String) throws {
    let bed = try FleetBed()
    let writes = bed.etcd.writes
    #expect(try bed.attempt(TestBed.right, Bytes(text: name)).isGranted == false)
    #expect(bed.etcd.writes == writes)
    if name == "root" {
      #expect(reason { try bed.enroll(TestBed.right, Bytes(text: name)) } == .noAccount)
    }
  }

  @Test func `the same wrong passcode again doesn't count again, for five minutes`() throws {
    let bed = try FleetBed()
    for _ in 0..<5 { #expect(try bed.attempt("1593") == .wrong(.open(attemptsLeft: 2), failures: 1)) }
    #expect(try bed.attempt("1593", at: "ws2") == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(try bed.attempt("2604") == .wrong(.open(attemptsLeft: 1), failures: 2))
    bed.bed.now += 301_000
    guard case .wrong(.locked, failures: 3) = try bed.attempt("2604") else {
      Issue.record("it no longer counts")
      return
    }
  }

  @Test func `a record that was altered, or moved from another account, is unavailable and never counts`()
    throws
  {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.enroll("8264", bob)
    var moved = try #require(try bed.record(bob))
    moved.record.name = FleetBed.alice
    bed.etcd.set(FleetKeys.record(FleetBed.alice), moved.encoded(recordCodec))
    guard case .unavailable(let fault) = try bed.attempt("8264") else {
      Issue.record("bob's passcode opened alice's account")
      return
    }
    #expect(fault.reason == .sealedOtherwise)
    bed.etcd.set(FleetKeys.record(FleetBed.alice), Bytes(text: "passcode_fleet=1\n"))
    guard case .unavailable(let damaged) = try bed.attempt("8264") else {
      Issue.record("decided by a damaged record")
      return
    }
    #expect(damaged.reason == .damagedRecord)
  }

  /// Random histories of lost, cut and late transactions: three wrong ones at most are looked at before the first delay, and
  /// a right one is never reported wrong.
  @Test func `never more than the budget, and never a right one wrong, whatever answers are lost`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<60 {
      let bed = try FleetBed()
      bed.etcd.mishap = { _ in [nil, nil, .lost, .cut, .late].randomElement(using: &generator) ?? nil }
      var looked = 0
      for code in TestBed.wrong {
        if case .wrong = try bed.attempt(code, at: "ws\(looked)") { looked += 1 }
      }
      #expect(looked <= 3)
      #expect(try bed.failures() >= looked)
      bed.etcd.mishap = { _ in [nil, .lost, .cut, .late].randomElement(using: &generator) ?? nil }
      bed.bed.now += 40_000_000
      if case .wrong = try bed.attempt(TestBed.right) { Issue.record("a right one was reported wrong") }
    }
  }

  /// 60 at once, with the kernel's clock and threads of their own.
  @Test func `parallel right passcodes all pass, and leave nothing behind`() throws {
    let bed = try FleetBed()
    nonisolated(unsafe) let shared = bed
    nonisolated(unsafe) var granted = 0
    let lock = NSLock()
    bed.etcd.now = { SystemClock.bootMilliseconds() ?? 0 }
    let configuration = bed.bed.vault.configuration
    let sodium = try #require(Sodium())
    nonisolated(unsafe) let vault = Vault(configuration, sodium, clock: .system) { _ in }
    DispatchQueue.concurrentPerform(iterations: 60) { index in
      let verdict = try? shared.attempt(TestBed.right, at: "ws\(index % 2)", vault: vault)
      if verdict?.isGranted == true {
        lock.withLock { granted += 1 }
      } else {
        Issue.record("\(String(describing: verdict))")
      }
    }
    #expect(granted == 60)
    #expect(try bed.failures() == 0)
    #expect(bed.station("ws0") == 0 && bed.station("ws1") == 0)
    #expect(bed.etcd.value(FleetKeys.busy(FleetBed.alice)) == nil)
  }
}
