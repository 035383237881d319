import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

struct FleetListTests {
  private func add(_ count: Int, before name: String, _ bed: FleetBed) {
    for index in 0..<count {
      let name = Bytes(text: "\(name)\(index)")
      let record = Record(uid: FleetRecord.uid, name: name, generation: 1)
      bed.etcd.set(FleetKeys.record(name), FleetRecord(record, epoch: 1).encoded(recordCodec))
    }
  }

  @Test func `all accounts are listed, and only accounts`() throws {
    let bed = try FleetBed()
    try bed.fail(3)
    add(1_200, before: "p", bed)
    let names = try bed.listed()
    #expect(names.count == 1_201 && Set(names).count == 1_201 && names.contains(FleetBed.alice))
  }

  /// The first page ends after each of alice's keys in turn.
  @Test(arguments: 0..<6)
  func `an account's keys are one account's, on whichever page they are`(missing: Int) throws {
    let bed = try FleetBed()
    try bed.fail(3)
    bed.etcd.set(FleetKeys.busy(FleetBed.alice), [1])
    add(Int(FleetList<FakeEtcd>.mostKeys) - missing, before: "a", bed)
    add(5, before: "alice", bed)
    var list = try FleetList(bed.fleet())
    var alice: FleetReport?
    var count = 0
    while let report = try list.next() {
      count += 1
      if report.account == FleetBed.alice { alice = report }
    }
    #expect(count == Int(FleetList<FakeEtcd>.mostKeys) - missing + 6)
    #expect(try alice?.status == bed.fleet().status(FleetBed.alice))
    #expect(alice?.status.state == .locked)
  }

  @Test func `a page that is too large is asked for again as a smaller one`() throws {
    let bed = try FleetBed()
    add(300, before: "p", bed)
    bed.etcd.mostListed = 130
    #expect(try bed.listed().count == 301)
    bed.etcd.mostListed = 40
    #expect(throws: Fault.noEtcd) { try bed.listed() }
  }

  @Test func `a damaged record ends the list with an error`() throws {
    let bed = try FleetBed()
    bed.etcd.set(FleetKeys.record(Bytes(text: "bob")), [1])
    #expect(throws: Fault.self) { try bed.listed() }
  }
}
