import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct SpareLeasesTests {
  private let bed: FleetBed

  init() throws {
    bed = try FleetBed()
  }

  private func lease(_ number: UInt64, _ use: AttemptLease.Use = .count, since: UInt64 = 0) -> AttemptLease {
    AttemptLease(use: use, number: number, since: since)
  }

  /// The leases of etcd that last an hour or longer.
  private var hours: [UInt64] {
    (bed.etcd.leases() ?? []).filter { bed.etcd.lease($0)?.whole ?? 0 >= StationCount.seconds }
  }

  // MARK: The file

  @Test func `one that is kept is taken once, and for its own use`() {
    let spares = bed.spares()
    #expect(spares.keep(lease(7), now: 0) == nil)
    #expect(spares.keep(lease(8, .attempt), now: 0) == nil)
    #expect(spares.take(.count, now: 0) == lease(7))
    #expect(spares.take(.count, now: 0) == nil)
    #expect(spares.take(.attempt, now: 0) == lease(8, .attempt))
    #expect(spares.take(.attempt, now: 0) == nil)
  }

  @Test(arguments: [(AttemptLease.Use.count, UInt64(60_000)), (.attempt, 5_000)])
  func `one that is too old, or of a later moment, is neither kept nor taken`(
    use: AttemptLease.Use, longest: UInt64
  ) {
    let spares = bed.spares()
    let young = lease(7, use, since: 100)
    #expect(spares.keep(young, now: longest + 101) == young)
    #expect(spares.keep(young, now: 99) == young)
    #expect(spares.keep(young, now: longest + 100) == nil)
    #expect(spares.take(use, now: longest + 101) == nil)
    #expect(spares.take(use, now: 99) == nil)
    #expect(spares.takeOld(now: longest + 100) == nil)
    #expect(spares.take(use, now: longest + 100) == young)
    #expect(spares.keep(young, now: 100) == nil)
    #expect(spares.has(use, now: longest + 100) && !spares.has(use, now: longest + 101))
    #expect(spares.takeOld(now: longest + 101) == (use == .count ? young : nil))
    #expect(spares.take(use, now: 100) == (use == .count ? nil : young))
    #expect(!spares.has(use, now: 100))
  }

  @Test func `where there is no room, it isn't kept; an old one makes room, and is returned`() {
    let spares = bed.spares()
    for number in 1...16 { #expect(spares.keep(lease(UInt64(number), since: 10), now: 10) == nil) }
    #expect(spares.keep(lease(17, since: 10), now: 10) == lease(17, since: 10))
    let late = lease(18, since: 70_000)
    #expect(spares.keep(late, now: 70_011) == lease(1, since: 10))
    #expect(spares.take(.count, now: 70_011) == late)
  }

  @Test func `in a crowd none is in two hands, and none is lost`() {
    let spares = bed.spares()
    for number in 1...8 { _ = spares.keep(lease(UInt64(number)), now: 0) }
    let lock = NSLock()
    nonisolated(unsafe) var held: Set<UInt64> = []
    nonisolated(unsafe) var (taken, twice) = (0, 0)
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      for _ in 0..<50 {
        guard let lease = spares.take(.count, now: 0) else { continue }
        lock.withLock {
          taken += 1
          if !held.insert(lease.number).inserted { twice += 1 }
        }
        usleep(50)
        lock.withLock { _ = held.remove(lease.number) }
        for _ in 0..<1_000 where spares.keep(lease, now: 0) == nil { break }
      }
    }
    #expect(taken > 100 && twice == 0)
    var left: Set<UInt64> = []
    while let lease = spares.take(.count, now: 0) { left.insert(lease.number) }
    #expect(left == Set(1...8))
  }

  @Test func `leases of another boot, or in a file that was cut short, don't count`() throws {
    let spares = bed.spares()
    let path = String(decoding: spares.path, as: UTF8.self)
    for damage in [{ (file: inout Data) in file[0] ^= 1 }, { $0.removeLast() }, { $0 = Data() }] {
      #expect(spares.keep(lease(7), now: 0) == nil)
      var file = try Data(contentsOf: URL(fileURLWithPath: path))
      damage(&file)
      try file.write(to: URL(fileURLWithPath: path))
      chmod(path, 0o600)
      #expect(spares.take(.count, now: 0) == nil)
      #expect(spares.keep(lease(8), now: 0) == nil)
      #expect(spares.take(.count, now: 0) == lease(8))
    }
  }

  @Test
  func `where the file has a second name, or is locked, nothing is kept or taken, and nobody waits for long`()
    throws
  {
    let spares = bed.spares()
    let path = String(decoding: spares.path, as: UTF8.self)
    #expect(spares.keep(lease(7), now: 0) == nil)
    #expect(link(path, path + ".other") == 0)
    #expect(spares.take(.count, now: 0) == nil)
    unlink(path + ".other")
    let file = try Descriptor.open(spares.path, .readWrite)
    #expect(try ByteLock.tryLock(file, at: 0))
    let started = ContinuousClock.now
    #expect(spares.take(.count, now: 0) == nil)
    #expect(spares.keep(lease(8), now: 0) == lease(8))
    #expect(ContinuousClock.now - started < .seconds(2))
    ByteLock.unlock(file, at: 0)
    #expect(spares.take(.count, now: 0) == lease(7))
  }

  // MARK: Attempts

  @Test func `correct passcodes reuse the first one's leases, and leave one of an hour`() throws {
    for _ in 0..<3 { #expect(try bed.attempt(TestBed.right).isGranted) }
    let leases = bed.etcd.leases() ?? []
    #expect(leases.count == 2 && hours.count == 1)
    #expect(bed.etcd.lease(hours[0])?.keys == [])
    #expect(bed.etcd.lease(hours[0])?.whole == 3_667)
    #expect(bed.etcd.lease(leases.filter { $0 != hours[0] }[0])?.whole == 25)
    #expect(bed.station() == 0)
  }

  @Test func `an etcd that has just granted a lease isn't asked whether it is full`() throws {
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.etcd.isFull = true
    #expect(try bed.look() == nil)
    bed.bed.now += 5_001
    #expect(try bed.look() == .unavailable(Fault(.failed, path: Bytes(text: "etcd"), error: ENOSPC)))
  }

  @Test func `a wrong one's count keeps its lease, and right ones after it have others`() throws {
    #expect(try bed.attempt(TestBed.right).isGranted)
    let spare = hours
    try bed.fail(1)
    #expect(bed.etcd.lease(spare[0])?.keys.isEmpty == false, "the count's, and no spare one any more")
    #expect(bed.spares().take(.count, now: bed.bed.now) == nil)
    for _ in 0..<3 { #expect(try bed.attempt(TestBed.right).isGranted) }
    #expect(bed.station() == 1)
    #expect(hours.count == 2, "the count's, and that of the wrong passcode itself")
    #expect(try bed.attempt(TestBed.right, at: "ws2").isGranted)
    #expect(bed.station() == 1)
    #expect(hours.count == 3)
  }

  @Test func `one that is older than a minute is ended by the timer, or by the next attempt`() throws {
    #expect(try bed.attempt(TestBed.right).isGranted)
    let first = hours
    bed.bed.now += 61_000
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(hours.count == 1 && hours != first)
    bed.bed.now += 61_000
    try bed.fleet().noteEpoch()
    #expect(hours.count == 0)
  }

  @Test(arguments: [FakeEtcd.Mishap.lost, .cut, .late])
  func `a count's lease isn't kept where the settling isn't acknowledged`(mishap: FakeEtcd.Mishap) throws {
    bed.etcd.mishap = { FleetBed.isSettling($0) ? mishap : nil }
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.etcd.mishap = { _ in nil }
    let kept = bed.spares().take(.count, now: bed.bed.now)
    #expect(kept == nil)
  }

  @Test func `one that etcd doesn't have any more costs an attempt nothing but time`() throws {
    #expect(try bed.attempt(TestBed.right).isGranted)
    for lease in bed.etcd.leases() ?? [] { bed.etcd.endLease(lease) }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.failures() == 0)
    for lease in bed.etcd.leases() ?? [] { bed.etcd.endLease(lease) }
    #expect(try bed.attempt(TestBed.wrong[0]) == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(try bed.failures() == 1)
    #expect(bed.station() == 1)
  }

  @Test func `a file that is older than etcd ends no count`() throws {
    #expect(try bed.attempt(TestBed.right).isGranted)
    let file = URL(fileURLWithPath: String(decoding: bed.spares().path, as: UTF8.self))
    let kept = try Data(contentsOf: file)
    try bed.fail(2)
    try kept.write(to: file)
    chmod(file.path, 0o600)
    bed.bed.now += 61_000
    try bed.fleet().noteEpoch()
    #expect(bed.station() == 2)
  }

  @Test func `a charge that was refused leaves its leases for the next try`() throws {
    let bob = try bed.people(1)[0]
    let before = bed.etcd.leases()?.count
    while bed.spares().take(.count, now: bed.bed.now) != nil {}
    while bed.spares().take(.attempt, now: bed.bed.now) != nil {}
    let bed = bed
    bed.meanwhile(.charge) { _ = try bed.attempt(TestBed.right, bob) }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.etcd.leases()?.count == (before ?? 0) + 4, "two each, though one of them charged twice")
    #expect(bed.station() == 0)
  }
}
