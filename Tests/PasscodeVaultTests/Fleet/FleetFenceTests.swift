import Foundation
import PasscodePolicy
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// What becomes of a charge that got no answer.
struct FleetFenceTests {
  private let noEtcd = Verdict.unavailable(Fault.noEtcd)
  private static let wrong = TestBed.wrong[0]

  /// The charges and fences that are sent, by the ids that they write.
  private final class Sent {
    private(set) var charges: [Bytes] = []
    private(set) var fences: [EtcdTransaction] = []

    init(_ bed: FleetBed) {
      let earlier = bed.etcd.before
      bed.etcd.before = { [unowned self] transaction in
        earlier(transaction)
        if FleetStep(transaction) == .fence { fences.append(transaction) }
        for case .put(FleetKeys.busy(FleetBed.alice), let id, _) in transaction.actions { charges.append(id) }
      }
    }
  }

  private func expect(_ verdict: Verdict, of code: String, _ bed: FleetBed) throws {
    if code == TestBed.right {
      #expect(verdict.isGranted)
    } else {
      #expect(verdict == .wrong(.open(attemptsLeft: 2), failures: 1))
    }
    bed.etcd.deliver()
    #expect(try bed.failures() == (code == TestBed.right ? 0 : 1))
    #expect(bed.station() == (code == TestBed.right ? 0 : 1))
    #expect(bed.etcd.value(FleetKeys.busy(FleetBed.alice)) == nil)
  }

  @Test(arguments: [TestBed.right, wrong], [FakeEtcd.Mishap.cut, .late])
  func `a charge that didn't arrive is fenced, and the attempt charges anew`(
    code: String, mishap: FakeEtcd.Mishap
  ) throws {
    let bed = try FleetBed()
    let sent = Sent(bed)
    bed.loseFirst(.charge, mishap)
    let start = bed.bed.now
    try expect(try bed.attempt(code), of: code, bed)
    #expect(sent.charges.count == 2 && sent.charges[0] != sent.charges[1])
    #expect(sent.fences.count == 1)
    #expect(bed.bed.now - start < 1_000, "nobody waits for the lease of a charge that isn't there")
  }

  @Test(arguments: [TestBed.right, wrong])
  func `a charge that did is found by its id, and counts once`(code: String) throws {
    let bed = try FleetBed()
    let sent = Sent(bed)
    bed.loseFirst(.charge, .lost)
    try expect(try bed.attempt(code), of: code, bed)
    #expect(sent.charges.count == 1 && sent.fences.count == 1)
  }

  @Test(arguments: [FakeEtcd.Mishap.cut, .lost, .late], [FakeEtcd.Mishap.cut, .lost, .late])
  func `a fence without an answer is repeated, and never the charge`(
    charge: FakeEtcd.Mishap, fence: FakeEtcd.Mishap
  ) throws {
    let bed = try FleetBed()
    let sent = Sent(bed)
    bed.loseFirst(.charge, charge)
    bed.loseFirst(.fence, fence)
    try expect(try bed.attempt(Self.wrong), of: Self.wrong, bed)
    #expect(sent.fences.count == 2 && sent.fences[0] == sent.fences[1])
    #expect(Set(sent.charges).count == sent.charges.count)
    // What is late arrives once something else is late, too.
    #expect(sent.charges.count == (charge == .lost || (charge, fence) == (.late, .late) ? 1 : 2))
  }

  @Test func `a charge that arrives between two fences is found by the second`() throws {
    let bed = try FleetBed()
    let sent = Sent(bed)
    bed.loseFirst(.charge, .late)
    bed.loseFirst(.fence, .cut)
    bed.etcd.before = { [before = bed.etcd.before] in
      before($0)
      if sent.fences.count == 2 { bed.etcd.deliver() }
    }
    try expect(try bed.attempt(TestBed.right), of: TestBed.right, bed)
    #expect(sent.charges.count == 1)
  }

  /// It finds the record in another revision: what was charged since stays.
  @Test func `a fence that arrives after the next charge writes nothing`() throws {
    let bed = try FleetBed()
    bed.loseFirst(.charge, .cut)
    bed.loseFirst(.fence, .late)
    try bed.fail(1)
    let before = try bed.record()
    bed.etcd.deliver()
    #expect(try bed.record() == before && bed.failures() == 1)
  }

  @Test(arguments: [FakeEtcd.Mishap.cut, .lost])
  func `without an answer for half a minute it is unavailable, and one charge was sent`(
    mishap: FakeEtcd.Mishap
  ) throws {
    let bed = try FleetBed()
    let sent = Sent(bed)
    bed.loseFirst(.charge, mishap)
    bed.etcd.mishap = { [mishap = bed.etcd.mishap] in FleetStep($0) == .fence ? .cut : mishap($0) }
    let start = bed.bed.now
    #expect(try bed.attempt(TestBed.right) == noEtcd)
    #expect((29_000...31_000).contains(bed.bed.now - start))
    #expect(sent.charges.count == 1)
    #expect(try bed.failures() == (mishap == .lost ? 1 : 0), "what was charged stays so")
  }

  @Test func `charges that are lost again and again end after half a minute, too`() throws {
    let bed = try FleetBed()
    bed.etcd.mishap = {
      guard FleetBed.isCharge($0) else { return nil }
      bed.bed.now += 2_000
      return .cut
    }
    let start = bed.bed.now
    #expect(try bed.attempt(TestBed.right) == noEtcd)
    #expect((30_000...34_000).contains(bed.bed.now - start))
    #expect(try bed.failures() == 0)
  }

  /// "Our id is there" is no free guess: what lies there from another attempt is another id.
  @Test func `another attempt's charge is not taken for one's own`() throws {
    let bed = try FleetBed()
    bed.loseFirst(.charge, .cut)
    bed.meanwhile(.fence) { _ = try bed.attempt(Self.wrong, at: "ws2") }
    #expect(try bed.attempt(TestBed.wrong[1]) == .wrong(.open(attemptsLeft: 1), failures: 2))
    #expect(try bed.failures() == 2)
  }

  @Test func `what has changed meanwhile decides`() throws {
    let acts: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().disable(FleetBed.alice, true) }, { _ = try $0.fleet().remove(FleetBed.alice) },
      { try $0.enroll("8305") }, { _ = try $0.fail(3, at: "ws2") },
      { $0.etcd.set(FleetKeys.epoch, Bytes(text: "2")) },
    ]
    for (index, act) in acts.enumerated() {
      let bed = try FleetBed()
      bed.loseFirst(.charge, .cut)
      bed.meanwhile(.fence) { try act(bed) }
      #expect(try !bed.attempt(TestBed.right).isGranted, "\(index)")
    }
  }

  /// Another attempt could begin before the hash ends.
  @Test func `a charge that is found late stays, and nothing is verified`() throws {
    let bed = try FleetBed()
    bed.loseFirst(.charge, .lost)
    bed.meanwhile(.fence) { bed.bed.now += 17_000 }
    #expect(try bed.attempt(TestBed.right) == noEtcd)
    #expect(try bed.failures() == 1)
    #expect(bed.etcd.value(FleetKeys.busy(FleetBed.alice)) == nil, "the next attempt needn't wait")
  }

  /// Then the code may go to another server.
  @Test func `it isn't charged only if no charge was sent, or each was refused or fenced`() throws {
    let uncharged: [(FleetBed) throws -> Verdict] = [
      { bed in try bed.attempt(TestBed.right) { bed.etcd.isDown = true } },
      { bed in try bed.attempt(TestBed.right) { _ = try bed.fleet().disable(FleetBed.alice, true) } },
      { bed in
        bed.meanwhile(.charge) { _ = try bed.fail(3, at: "ws2") }
        return try bed.attempt(TestBed.right)
      },
      { bed in
        bed.etcd.mishap = {
          guard FleetBed.isCharge($0) else { return nil }
          bed.bed.now += 2_000
          return .cut
        }
        return try bed.attempt(TestBed.right)
      },
    ]
    for (index, attempt) in uncharged.enumerated() {
      let bed = try FleetBed()
      #expect(try !attempt(bed).isGranted && !bed.mayBeCharged, "\(index)")
    }
    let charged: [(FleetBed) throws -> Verdict] = [
      { bed in try bed.attempt(Self.wrong) },
      { bed in try bed.attempt(TestBed.right) },
      { bed in
        bed.loseFirst(.charge, .lost)
        bed.meanwhile(.fence) { bed.bed.now += 17_000 }
        return try bed.attempt(TestBed.right)
      },
      { bed in
        bed.etcd.mishap = { FleetBed.isCharge($0) || FleetStep($0) == .fence ? .cut : nil }
        return try bed.attempt(TestBed.right)
      },
      { bed in
        bed.meanwhile(.settling) { _ = try bed.fleet().disable(FleetBed.alice, true) }
        return try bed.attempt(TestBed.right)
      },
    ]
    for (index, attempt) in charged.enumerated() {
      let bed = try FleetBed()
      _ = try attempt(bed)
      #expect(bed.mayBeCharged, "\(index)")
    }
  }

  @Test(arguments: [FakeEtcd.Mishap.cut, .lost, .late])
  func `a one-time code survives a charge without an answer`(mishap: FakeEtcd.Mishap) throws {
    let bed = try FleetBed()
    try bed.invite()
    bed.loseFirst(.charge, mishap)
    #expect(try bed.enroll(byCode: FleetBed.code) == .done)
    bed.etcd.deliver()
    #expect(try bed.attempt("8264").isGranted)
  }
}
