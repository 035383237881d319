import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// The same numbers for the same seed.
private struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    let mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
    return mixed ^ mixed >> 31
  }
}

/// What lasts for a time lasts at least that long, and a change of etcd's leader makes it little longer.
struct FleetLeaseTests {
  private static let (alice, code) = (FleetBed.alice, FleetBed.code)
  private static let wait = FleetKeys.wait(alice)

  /// Each minute every server's timer; the leader changes in between.
  private func pass(_ minutes: Int, _ bed: FleetBed, servers: Int = 3) throws {
    for _ in 0..<minutes {
      bed.bed.now += 30_000
      bed.etcd.changeLeader()
      bed.bed.now += 30_000
      for server in 0..<servers { try bed.fleet(server: "seen\(server)", start: .allowed).keepLeases() }
    }
  }

  /// Five wrong ones: a delay of five minutes.
  private func lock(_ bed: FleetBed) throws -> UInt64 {
    try bed.fail(3)
    bed.bed.now += 68_000
    try bed.fail(1, from: 3)
    bed.bed.now += 68_000
    try bed.fail(1, from: 4)
    return bed.bed.now
  }

  @Test(arguments: [1, 5]) func `a delay ends, with a new leader each minute`(servers: Int) throws {
    let bed = try FleetBed()
    let charged = try lock(bed)
    try bed.fleet().keepLeases()
    while bed.etcd.value(Self.wait) != nil {
      try pass(1, bed, servers: servers)
      guard bed.bed.now - charged < 900_000 else {
        Issue.record("it goes on for ever")
        return
      }
    }
    #expect((300_000...900_000).contains(bed.bed.now - charged))
    #expect(try bed.look() == nil)
  }

  @Test func `without a change of the leader nothing is moved`() throws {
    let bed = try FleetBed()
    _ = try lock(bed)
    let lease = bed.etcd.lease(of: Self.wait)
    for _ in 0..<4 {
      try bed.fleet().keepLeases()
      #expect(bed.etcd.lease(of: Self.wait) == lease)
      bed.bed.now += 60_000
    }
    bed.bed.now += 67_000
    #expect(try bed.look() == nil)
  }

  @Test func `a one-time code ends`() throws {
    let bed = try FleetBed()
    try bed.invite(seconds: 720)
    let made = bed.bed.now
    try bed.fleet().keepLeases()
    try pass(11, bed)
    #expect(bed.etcd.value(FleetKeys.code(Self.alice)) != nil, "valid for as long as was said")
    while bed.etcd.value(FleetKeys.code(Self.alice)) != nil, bed.bed.now - made < 3_600_000 {
      try pass(1, bed)
    }
    // Each minute half a minute passes before the new leader begins, and each move rounds up to a second.
    #expect(bed.bed.now - made <= 2 * 720_000 + 120_000)
    #expect(try bed.enroll(byCode: Self.code) == .noCode)
  }

  /// With a new leader each week, or each day. Each gives it what has passed since the last note.
  @Test(arguments: [7 * 24, 24]) func `a one-time code of a week ends after it`(hours: Int) throws {
    let bed = try FleetBed()
    try bed.invite(seconds: 604_800)
    let made = bed.bed.now
    var (minutes, changes) = (0, UInt64(0))
    while bed.etcd.value(FleetKeys.code(Self.alice)) != nil, minutes < 8 * 24 * 60 {
      minutes += 1
      bed.bed.now += 60_000
      if minutes % (hours * 60) == hours * 60 - 10 {
        bed.etcd.changeLeader()
        changes += 1
      }
      try bed.fleet().keepLeases()
    }
    #expect(changes == 7 * 24 / UInt64(hours))
    // A note is made by the first timer after an hour, and rounds up to a second.
    let most = 604_800_000 + changes * 3_661_000 + 60_000
    #expect((604_800_000...most).contains(bed.bed.now - made))
  }

  /// Whatever each of five servers has read, and however late it sends what follows from that.
  @Test func `five servers at once end no delay early`() throws {
    for seed in 0..<40 {
      var generator = SplitMix(UInt64(seed))
      let bed = try FleetBed()
      let charged = try lock(bed)
      var depth = 0
      bed.etcd.before = { transaction in
        guard FleetStep(transaction) == .move || transaction.conditions.isEmpty, depth < 4 else { return }
        depth += 1
        bed.bed.now += UInt64.random(in: 0...9_000, using: &generator)
        if Bool.random(using: &generator) { bed.etcd.changeLeader() }
        try? bed.fleet(server: "seen\(depth)", start: .allowed).keepLeases()
        depth -= 1
      }
      bed.etcd.mishap = { _ in [nil, nil, .lost, .cut, .late].randomElement(using: &generator) ?? nil }
      while bed.bed.now < charged + 300_000 {
        try bed.fleet().keepLeases()
        guard bed.bed.now >= charged + 300_000 || bed.etcd.value(Self.wait) != nil else {
          Issue.record("seed \(seed): open \(bed.bed.now - charged) ms after the charge")
          return
        }
        bed.bed.now += UInt64.random(in: 1_000...60_000, using: &generator)
        if Bool.random(using: &generator) { bed.etcd.changeLeader() }
      }
    }
  }

  @Test func `while an attempt is under way nothing is noted or moved`() throws {
    let bed = try FleetBed()
    try bed.invite()
    try bed.fail(1)
    try bed.startLeasesAnew()
    let keys = [FleetKeys.code(Self.alice), FleetKeys.station(Bytes(text: "ws1"))]
    let before = keys.map { bed.etcd.lease(of: $0) }
    let hindrances = [
      FleetKeys.busy(Self.alice), FleetKeys.flight(Bytes(text: "ws1"), Bytes(repeating: 1, count: 16)),
    ]
    for key in hindrances { bed.etcd.set(key, [1]) }
    try bed.fleet().keepLeases()
    #expect(keys.map { bed.etcd.lease(of: $0) } == before)
    for key in hindrances { bed.etcd.forget(key) }
    try bed.fleet().keepLeases()
    for (key, lease) in zip(keys, before) {
      #expect(bed.etcd.lease(of: key) != lease)
      #expect(bed.etcd.timeLeft(lease) ?? 0 > 0, "the old one is not revoked")
    }
  }

  /// Its old lease reads 0, and the window isn't over.
  @Test func `a full count that moved meanwhile loses one, and no more`() throws {
    let bed = try FleetBed()
    let people = try bed.people(5)
    for index in 0..<19 {
      _ = try bed.attempt(TestBed.wrong[index % 10], people[index % 5])
      _ = try bed.fleet().unlock(people[index % 5])
    }
    #expect(bed.station() == 19)
    bed.meanwhile(.settling) {
      let own = FleetKeys.station(Bytes(text: "ws1"), account: Self.alice)
      let all = FleetKeys.station(Bytes(text: "ws1"))
      bed.etcd.replace(bed.etcd.lease(of: own), seconds: 1_000, rewriting: all)
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.station() == 19)
  }

  @Test func `a right code isn't refused because its key moved`() throws {
    let bed = try FleetBed()
    try bed.invite()
    bed.meanwhile(.setting) {
      bed.etcd.replace(bed.etcd.lease(of: FleetKeys.code(Self.alice)), seconds: 1_000)
    }
    #expect(try bed.enroll(byCode: Self.code) == .done)
    #expect(try bed.attempt("8264").isGranted)
  }
}
