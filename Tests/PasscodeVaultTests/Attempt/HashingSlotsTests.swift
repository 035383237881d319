import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeAdmin
@testable import PasscodeVault

/// Hashing slots, all taken within this one process, as threads of one login program do; time passes by sleeping only.
struct HashingSlotsTests {
  private static let gigabyte: UInt64 = 1 << 30

  /// Processors, memory in GiB, memlimit in MiB, max_parallel; how many slots that makes.
  private static let machines: [(UInt64, UInt64, UInt64, UInt64, Int)] = [
    (1, 8, 64, 0, 2), (2, 8, 64, 0, 2), (4, 8, 64, 0, 4), (100, 64, 64, 0, 64),
    // A quarter of the memory holds one hash, or none, or three.
    (1, 1, 256, 0, 1), (8, 1, 256, 0, 1), (8, 1, 512, 0, 1), (8, 3, 256, 0, 3), (1, 2, 256, 0, 2),
    // As configured, whatever the machine is.
    (1, 8, 64, 1, 1), (8, 1, 512, 5, 5), (1, 1, 512, 64, 64),
  ]

  @Test(arguments: machines)
  func `how many slots a machine has`(
    processors: UInt64, memory: UInt64, memlimit: UInt64, configured: UInt64, slots: Int
  ) {
    let count = HashingSlots.count(
      configured, hash: memlimit << 20, processors: Int(processors),
      memory: memory * HashingSlotsTests.gigabyte)
    #expect(count == slots)
  }

  @Test(arguments: [1, 2, 64])
  func `a slot is taken at once, and an overflow slot after 2 s of waiting`(count: Int) throws {
    let bed = try TestBed(enrolled: false)
    let held = Slots(bed)
    for _ in 0..<count { #expect(try held.take(of: count) == 0) }
    for _ in 0..<count { #expect((2_000..<2_100).contains(try held.take(of: count))) }
    #expect(bed.logged.isEmpty)
  }

  @Test func `an overflow slot may be taken after 2 s even while others take slots`() throws {
    let bed = try TestBed(enrolled: false)
    bed.meanwhile = { touch(bed) }
    let held = Slots(bed)
    _ = try held.take(of: 1)
    #expect((2_000..<2_100).contains(try held.take(of: 1)))
  }

  @Test func `a slot that is given back is the next one's`() throws {
    let bed = try TestBed(enrolled: false)
    let held = Slots(bed)
    _ = try held.take(of: 1)
    held.giveBack()
    #expect(try held.take(of: 1) == 0)
    bed.meanwhile = { held.giveBack() }
    #expect(try held.take(of: 1) < 10)
  }

  @Test func `all slots are stuck: after 9 s hashing goes on without one, and that is logged`() throws {
    let bed = try TestBed(enrolled: false)
    let held = Slots(bed)
    for _ in 0..<4 { _ = try held.take(of: 2) }
    #expect((9_000..<9_100).contains(try held.take(of: 2)))
    #expect(bed.logged.count == 1 && bed.logged[0].contains("hashing without a slot"))
  }

  // MARK: In a fleet

  @Test(arguments: [false, true])
  func `a fleet's attempt takes an overflow slot after 4 s, whether anything moves or not`(
    moves: Bool
  ) throws {
    let fleet = try FleetBed()
    let (bed, held) = (fleet.bed, Slots(fleet.bed))
    for _ in 0..<bed.vault.hashingSlots { _ = try held.take(of: bed.vault.hashingSlots) }
    if moves { bed.meanwhile = { touch(bed) } }
    let start = bed.now
    #expect(try fleet.attempt(TestBed.right).isGranted)
    #expect((4_000..<4_200).contains(bed.now - start))
    #expect(bed.logged.allSatisfy { !$0.contains("without a slot") })
  }

  /// The slots are free, and only those in the anteroom may take one.
  @Test(arguments: [1, 2, 64])
  func
    `a verifier that finds the anteroom full checks after 250 ms, and tries no slot until there is room`(
      count: Int
    ) throws
  {
    let bed = try TestBed(enrolled: false)
    let anteroom = try FullAnteroom(bed, of: count)
    var looks = 0
    bed.meanwhile = {
      looks += 1
      if looks == 4 { anteroom.leave(anteroom.places.upperBound - 1) }
    }
    #expect((1_000..<1_100).contains(try Slots(bed).take(of: count, .inFleet)) && looks == 4)
  }

  @Test func `time before the anteroom gives no right to an overflow slot`() throws {
    let bed = try TestBed(enrolled: false)
    let anteroom = try FullAnteroom(bed, of: 2)
    for slot in 0..<2 { #expect(try anteroom.take(slot)) }
    var isRoom = false
    let start = bed.now
    var pauses: [UInt64] = []
    var last = start
    bed.meanwhile = {
      touch(bed)
      if !isRoom { pauses.append(bed.now - last) }
      last = bed.now
      guard !isRoom, bed.now - start >= 20_000 else { return }
      isRoom = true
      anteroom.leave(anteroom.places.lowerBound)
    }
    let waited = try Slots(bed).take(of: 2, .inFleet)
    #expect((23_000..<24_100).contains(waited))
    #expect(pauses.first == 250 && pauses.last == 900 && pauses == pauses.sorted())
    #expect(bed.logged.isEmpty)
  }

  /// Those in the anteroom may be stopped before they have taken a slot.
  @Test(arguments: [0, 3, 4])
  func `all in the anteroom are stuck: after 9 s it is a free slot, or hashing without one, which is logged`(
    taken: Int
  ) throws {
    let bed = try TestBed(enrolled: false)
    let anteroom = try FullAnteroom(bed, of: 2)
    for slot in [0, 1, 64, 65].prefix(taken) { #expect(try anteroom.take(slot)) }
    let held = Slots(bed)
    let waited = try held.take(of: 2, .inFleet)
    #expect((9_000..<9_900).contains(waited))
    if taken < 4 { #expect(try anteroom.take(taken == 3 ? 65 : 0) == false) }
    #expect(bed.logged.count == (taken == 4 ? 1 : 0))
    #expect(bed.logged.allSatisfy { $0.contains("hashing without a slot") })
  }

  @Test func `outside the anteroom an overflow slot may be taken after 60 s`() throws {
    let bed = try TestBed(enrolled: false)
    let anteroom = try FullAnteroom(bed, of: 2)
    for slot in 0..<2 { #expect(try anteroom.take(slot)) }
    bed.meanwhile = { touch(bed) }
    let waited = try Slots(bed).take(of: 2, .inFleet)
    #expect((60_000..<61_800).contains(waited))
    #expect(bed.logged.isEmpty)
  }

  /// Whether it got a slot and gave it back, found everything stuck, or was refused.
  @Test(arguments: ["slot", "stuck", "refused"])
  func `a place in the anteroom ends with the wait that it was for`(outcome: String) throws {
    let bed = try TestBed(enrolled: false)
    let anteroom = try FullAnteroom(bed, of: 2)
    let place = anteroom.places.lowerBound
    anteroom.leave(place)
    if outcome != "slot" { for slot in [0, 1, 64, 65] { #expect(try anteroom.take(slot)) } }
    var taken = 0
    bed.meanwhile = {
      if outcome == "refused" { touch(bed) }
      if (try? anteroom.take(place)) == false { taken += 1 }
    }
    let held = Slots(bed)
    let refusal = reason { _ = try held.take(of: 2, .inFleet) }
    #expect(refusal == (outcome == "refused" ? .noHashingSlot : nil))
    #expect((taken > 100) == (outcome != "slot"))
    #expect(try anteroom.take(place) == (outcome != "slot"))
    if outcome == "slot" {
      held.giveBack()
      #expect(try anteroom.take(place))
    }
  }

  // MARK: Limits

  @Test func `slots move and none becomes free: after 2 minutes it is a refusal`() throws {
    let bed = try TestBed(enrolled: false)
    let held = Slots(bed)
    for _ in 0..<4 { _ = try held.take(of: 2) }
    bed.meanwhile = { touch(bed) }
    let start = bed.now
    #expect(reason { try held.take(of: 2) } == .noHashingSlot)
    #expect((120_000..<120_100).contains(bed.now - start))
  }

  @Test func `a passcode that expires while its attempt waits for a slot is not granted`() throws {
    for waited in [UInt64(59), 60] {
      let bed = try TestBed(enrolled: false)
      var terms = NewTerms()
      terms.seconds = 60
      try bed.enroll(TestBed.right, on: terms)
      let held = Slots(bed)
      let count = bed.vault.hashingSlots
      for _ in 0..<count { _ = try held.take(of: count) }
      bed.meanwhile = {
        bed.wall += waited
        bed.meanwhile = {}
        held.giveBack()
      }
      let verdict = try bed.attempt(TestBed.right)
      #expect(waited < 60 ? verdict.isGranted : verdict == .expired)
      #expect(try bed.status().state == (waited < 60 ? .ok : .expired))
    }
  }

  @Test(arguments: [0, 1, 64])
  func `a file of another length serves as well`(length: Int) throws {
    let bed = try TestBed(enrolled: false)
    try #require(truncate(file(bed), length) == 0)
    let held = Slots(bed)
    for _ in 0..<64 { #expect(try held.take(of: 64) == 0) }
    #expect((2_000..<2_100).contains(try held.take(of: 64)))
    #expect(bed.logged.isEmpty)
  }

  @Test func `who takes a slot shows those who wait that something moves`() throws {
    let bed = try TestBed(enrolled: false)
    touch(bed)
    let store = try Store.open(bed.vault.configuration)
    let before = HashingSlots.movement(store)
    let held = Slots(bed)
    _ = try held.take(of: 2)
    #expect(HashingSlots.movement(store) != before)
  }

  @Test func `a file that can't be opened keeps no right passcode out, and that is logged`() throws {
    let bed = try TestBed()
    try FileManager.default.removeItem(atPath: file(bed))
    try FileManager.default.createDirectory(atPath: file(bed), withIntermediateDirectories: false)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(bed.logged.count == 1 && bed.logged[0].contains(file(bed)))
  }

  /// Each looks whether another slot is free before it takes one; both may look before either takes one. Looking takes
  /// longer where most are taken.
  @Test func `of the last two slots two batches at the same moment never take both`() throws {
    let bed = try TestBed(enrolled: false)
    bed.maxParallel = 64
    let others = try Store.open(bed.vault.configuration).directory.open(HashingSlots.name, .readWrite)
    for slot in 2..<64 { #expect(try ByteLock.tryLock(others, at: slot)) }
    defer { withExtendedLifetime(others) {} }
    nonisolated(unsafe) let vault = bed.vault
    nonisolated(unsafe) var (held, most) = (0, 0)
    let (lock, ended) = (NSLock(), DispatchSemaphore(value: 0))
    for _ in 0..<2 {
      Thread {
        defer { ended.signal() }
        guard let store = try? Store.open(vault.configuration) else { return }
        let turns = BatchTurns(vault)
        var taken = 0
        while taken < 2_000 {
          guard
            let slot = try? turns.takeNow(store)
          else { continue }
          taken += 1
          lock.withLock {
            held += 1
            most = max(most, held)
          }
          usleep(20)
          lock.withLock { held -= 1 }
          _ = consume slot
        }
      }.start()
    }
    for _ in 0..<2 { ended.wait() }
    #expect(most == 1)
  }

  // MARK: Waiting for a record

  @Test func `a record that nobody lets go is busy after 10 s`() throws {
    let bed = try TestBed()
    let (verdict, waited) = try attemptWhileLocked(bed)
    #expect(isBusy(verdict) && (10_000..<10_100).contains(waited))
  }

  @Test func `who waits for a record waits on while slots are taken, for 2 minutes`() throws {
    let bed = try TestBed()
    bed.meanwhile = { touch(bed) }
    let (verdict, waited) = try attemptWhileLocked(bed)
    #expect(isBusy(verdict) && (120_000..<120_100).contains(waited))
  }

  @Test(arguments: [500, 3_000] as [UInt64])
  func `who waited for a record for more than a second lets others look first`(held: UInt64) throws {
    let bed = try TestBed()
    var holder: FileHandle? = try bed.hold()
    var pauses = 0
    let start = bed.now
    bed.meanwhile = {
      guard holder == nil else {
        if bed.now - start >= held { holder = nil }
        return
      }
      pauses += 1
      #expect((try? bed.hold()) != nil)
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(pauses == (held > 1_000 ? 1 : 0))
  }

  /// What an attempt says, and the milliseconds it took, while somebody else holds the record.
  private func attemptWhileLocked(_ bed: TestBed) throws -> (Verdict, UInt64) {
    let before = try bed.record()
    let file = open(bed.folder.path + "/store/\(bed.account.uid)", O_RDWR)
    defer { close(file) }
    try #require(flock(file, LOCK_EX | LOCK_NB) == 0)
    let start = bed.now
    let verdict = try bed.attempt(TestBed.right)
    #expect(try bed.record() == before)
    return (verdict, bed.now - start)
  }

  private func isBusy(_ verdict: Verdict) -> Bool {
    guard case .unavailable(let fault) = verdict else { return false }
    return fault.reason == .busyRecord
  }
}

private func file(_ bed: TestBed) -> String { bed.folder.path + "/store/places" }

/// As whoever takes a slot does; each time another moment.
private func touch(_ bed: TestBed) {
  let moment = timespec(tv_sec: Int(bed.now), tv_nsec: 0)
  #expect(unsafe utimensat(AT_FDCWD, file(bed), [moment, moment], 0) == 0)
}

/// Those that are held. An array can't hold what can't be copied: a chain of boxes does.
private final class Slots {
  private let bed: TestBed
  private var last: Link?

  init(_ bed: TestBed) {
    self.bed = bed
  }

  /// Takes one more.
  ///
  /// - Returns: milliseconds of waiting.
  func take(of count: Int, _ manner: HashingSlots.Manner = .usual) throws -> UInt64 {
    let (vault, start) = (bed.vault, bed.now)
    let store = try Store.open(vault.configuration)
    last = Link(
      try HashingSlots.take(store, count, vault.clock, manner) {
        vault.log($0)
      }, before: last)
    return bed.now - start
  }

  func giveBack() {
    last = last?.before
  }
}

private final class Link {
  let before: Link?
  private let slot: HashingSlots.Held

  init(_ slot: consuming HashingSlots.Held, before: Link?) {
    self.slot = slot
    self.before = before
  }
}

/// All places of a fleet's anteroom, taken.
private final class FullAnteroom {
  let places: Range<Int>
  private let file: Descriptor

  init(_ bed: TestBed, of count: Int) throws {
    file = try Store.open(bed.vault.configuration).openShared(
      HashingSlots.name, content: HashingSlots.nothing)
    places = 128..<128 + 4 * count + 4
    for place in places { #expect(try take(place)) }
  }

  func take(_ byte: Int) throws -> Bool { try ByteLock.tryLock(file, at: byte) }

  func leave(_ byte: Int) { ByteLock.unlock(file, at: byte) }
}
