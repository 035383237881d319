import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetSnapshotTests {
  private func restored(_ verdict: Verdict?) -> Bool {
    if case .unavailable(let fault)? = verdict { return fault.reason == .fleetRestored }
    return false
  }

  private func isMissing(_ verdict: Verdict) -> Bool {
    if case .unavailable(let fault) = verdict { return fault.reason == .missing }
    return false
  }

  private func isOfAnotherEpoch(_ verdict: Verdict) -> Bool {
    if case .unavailable(let fault) = verdict { return fault.reason == .fleetEpoch }
    return false
  }

  @Test func `a snapshot that was restored refunds nothing: it is refused`() throws {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    try bed.fail(2)
    bed.etcd.restore(snapshot)
    #expect(try restored(bed.attempt(TestBed.right)) && restored(bed.look()))
    #expect(reason { try bed.fleet().unlock(FleetBed.alice) } == .fleetRestored)
  }

  @Test func `a snapshot that was refused once is refused when it has come as far again`() throws {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    try bed.fail(2)
    let now = bed.etcd.snapshot
    bed.etcd.restore(snapshot)
    #expect(reason { try bed.fleet().checkEpoch() } == .fleetRestored)
    // Used at another server meanwhile, and elected again.
    for number in 0..<9 { bed.etcd.set(FleetKeys.epoch, Bytes(text: "\(number)")) }
    bed.etcd.set(FleetKeys.epoch, Bytes(text: "1"))
    bed.etcd.term = 9
    #expect(bed.etcd.snapshot.revision > now.revision)
    #expect(try restored(bed.attempt(TestBed.right)) && restored(bed.look()))
    try SeenFile(Bytes(text: bed.bed.folder.path + "/seen"), for: .person(0)).forget()
    #expect(try bed.fleet(start: .allowed).checkEpoch() == 1)
  }

  @Test func `what a process has read before etcd was declared restored decides nothing for good`() throws {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    try bed.fail(2)
    let old = try bed.fleet()
    bed.etcd.restore(snapshot)
    try SeenFile(Bytes(text: bed.bed.folder.path + "/seen"), for: .person(0)).forget()
    #expect(reason { try old.checkEpoch() } == .fleetRestored)
    try bed.fleet(start: .allowed).checkEpoch()
    #expect(reason { try old.checkEpoch() } == .fleetRestored)
    try bed.fleet().checkEpoch()
  }

  @Test func `a process that began before hears of it`() throws {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    let old = try bed.fleet()
    try bed.fail(2)
    bed.etcd.restore(snapshot)
    #expect(reason { try bed.fleet().checkEpoch() } == .fleetRestored)
    for number in 0..<9 { bed.etcd.set(FleetKeys.record(Bytes(text: "u\(number)")), Bytes(text: "x")) }
    #expect(reason { try old.checkEpoch() } == .fleetRestored)
  }

  @Test func `a term that is behind is refused, but not for good`() throws {
    let bed = try FleetBed()
    bed.etcd.term += 1
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.etcd.term -= 1
    #expect(try restored(bed.attempt(TestBed.right)))
    bed.etcd.term += 1
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `a server that has seen nothing refuses an etcd that has passcodes, until it is told`() throws {
    let bed = try FleetBed()
    #expect(reason { try bed.fleet(server: "new") } == .missing)
    #expect(reason { try bed.fleet(server: "new", start: .allowed).noteEpoch() } == .fleetRestored)
    #expect(reason { try bed.fleet(server: "new").checkEpoch() } == .missing, "what was refused is not noted")
    try bed.fleet(server: "new", start: .allowed).noteEpoch(isTold: true)
    try bed.fleet(server: "new").checkEpoch()
  }

  @Test func `a server that has seen nothing begins with an etcd that has none`() throws {
    let bed = try FleetBed(enrolled: false)
    try bed.fleet(server: "new", start: .allowed).noteEpoch()
    try bed.fleet(server: "new").checkEpoch()
    bed.etcd.set(FleetKeys.epoch, Bytes(text: "2"))
    #expect(reason { try bed.fleet(server: "other", start: .allowed).noteEpoch() } == .fleetRestored)
  }

  @Test func `a new server begins with what others have seen, and refuses an etcd that is behind that`()
    throws
  {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    try bed.fail(2)
    let now = bed.etcd.snapshot
    let new = Bytes(text: bed.bed.folder.path + "/new")
    func raise(by number: UInt64, cluster: UInt64 = 0) throws {
      let origin = EtcdOrigin(
        cluster: bed.etcd.cluster + cluster, revision: now.revision + number, term: bed.etcd.term)
      try SeenFile(new, for: .person(0), .allowed).raise(to: FleetSeen(origin))
    }
    try raise(by: 0)
    try bed.fleet(server: "new", start: .allowed).noteEpoch()
    #expect(reason { try raise(by: 0, cluster: 1) } == .fleetRestored)
    try raise(by: 0)
    bed.etcd.restore(snapshot)
    #expect(reason { try bed.fleet(server: "new").checkEpoch() } == .fleetRestored)
    for number in 0..<9 { bed.etcd.set(FleetKeys.epoch, Bytes(text: "\(number)")) }
    try raise(by: 1)
    #expect(reason { try bed.fleet(server: "new").checkEpoch() } == .fleetRestored, "that ends no refusal")
  }

  @Test func `another cluster is refused, and a later term of the same is not`() throws {
    let bed = try FleetBed()
    bed.etcd.term += 1
    #expect(try bed.attempt(TestBed.right).isGranted)
    bed.etcd.cluster += 1
    #expect(try restored(bed.attempt(TestBed.right)))
  }

  @Test func `what an administrator declares restored is locked out until each is unlocked`() throws {
    let bed = try FleetBed()
    let snapshot = bed.etcd.snapshot
    try bed.fail(2)
    bed.etcd.restore(snapshot)
    try SeenFile(Bytes(text: bed.bed.folder.path + "/seen"), for: .person(0)).forget()
    try bed.raiseEpoch()
    #expect(try isMissing(bed.attempt(TestBed.right)), "until root has begun again")
    try bed.fleet(start: .allowed).checkEpoch()
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 0))
    #expect(try bed.fleet().status(FleetBed.alice).state == .exhausted)
    #expect(try bed.fleet().disable(FleetBed.alice, true) == true)
    #expect(try bed.fleet().disable(FleetBed.alice, false) == true)
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 0), "enabling is no unlocking")
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `a server whose key is of an earlier epoch decides nothing`() throws {
    let bed = try FleetBed()
    let old = try bed.readKey()
    try bed.raiseEpoch()
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    try bed.writeKey(old)
    #expect(try isOfAnotherEpoch(bed.attempt(TestBed.right)))
    #expect(reason { try bed.fleet().unlock(FleetBed.alice) } == .fleetEpoch)
  }

  @Test func `a server that nobody has asked since learns of the new epoch from etcd`() throws {
    let bed = try FleetBed()
    let old = try bed.readKey()
    try bed.raiseEpoch()
    #expect(try bed.fleet().declareEpoch() == 2)
    #expect(try bed.fleet().declareEpoch() == 2 && bed.fleet().noteEpoch() == 2)
    try bed.writeKey(old)
    #expect(try isOfAnotherEpoch(bed.attempt(TestBed.right)))
    #expect(reason { try bed.fleet().noteEpoch() } == .fleetEpoch)
    #expect(reason { try bed.fleet().unlock(FleetBed.alice) } == .fleetEpoch)
    #expect(try bed.fleet().declareEpoch() == 2, "by which this server learns how far to go")
    try bed.raiseEpoch()
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 0))
  }

  @Test func `an epoch that begins between reading and charging stops the attempt`() throws {
    let bed = try FleetBed()
    bed.etcd.before = { transaction in
      if FleetBed.isCharge(transaction) { bed.etcd.set(FleetKeys.epoch, Bytes(text: "2")) }
    }
    #expect(try isOfAnotherEpoch(bed.attempt(TestBed.right)))
    #expect(try bed.failures() == 0)
  }

  @Test(arguments: ["", "0", "02", "2\n", "x", "9223372036854775807"])
  func `an epoch that no server writes is a refusal`(text: String) throws {
    let bed = try FleetBed()
    bed.etcd.set(FleetKeys.epoch, Bytes(text: text))
    guard case .unavailable = try bed.attempt(TestBed.right) else {
      Issue.record("decided")
      return
    }
  }

  @Test func `two processes of a server that answer at the same time don't refuse each other`() throws {
    let bed = try FleetBed()
    var isFirst = true
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction), isFirst else { return }
      isFirst = false
      for _ in 0..<3 { _ = try? bed.attempt(TestBed.right, at: "ws2") }
    }
    #expect(try bed.attempt(TestBed.right).isGranted)
  }
}
