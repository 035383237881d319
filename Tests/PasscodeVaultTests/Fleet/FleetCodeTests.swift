import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// One-time codes: the MUST list is in KeptCode.swift.
struct FleetCodeTests {
  private let code = FleetBed.code
  private let wrong = ["KTMXRWPC", "AAAAAAAA", "BTMXRWPK", "KTMXRWPD"]
  private let fresh = "8264"

  private func isCode(_ bed: FleetBed) -> Bool { bed.etcd.value(FleetKeys.code(FleetBed.alice)) != nil }

  @Test func `with a code somebody without a passcode sets the first one, once`() throws {
    let bed = try FleetBed(enrolled: false)
    #expect(try bed.enroll(byCode: code) == .noCode)
    try bed.invite()
    #expect(try bed.look() == .notEnrolled, "it opens no login")
    #expect(try bed.enroll(byCode: code) == .done)
    #expect(try bed.attempt(fresh).isGranted)
    #expect(try bed.enroll(byCode: code, new: "8305") == .noCode)
    #expect(!isCode(bed) && bed.station() == 0, "neither code nor charge is left")
    #expect(try bed.record()?.record.isAdministrators == true)
  }

  @Test func `it replaces a forgotten passcode, and letters of either size are one`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    try bed.invite()
    #expect(try bed.enroll(byCode: "ktmx-rwpb") == .done)
    #expect(try bed.attempt(fresh).isGranted && bed.failures() == 0)
    #expect(try bed.attempt(TestBed.right) == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `wrong ones are charged in the account's budget, each of them, and lock`() throws {
    let bed = try FleetBed()
    try bed.invite()
    try bed.fail(1)
    #expect(try bed.enroll(byCode: wrong[0]) == .refused(.wrong(.open(attemptsLeft: 1), failures: 2)))
    #expect(
      try bed.enroll(byCode: wrong[0], at: "ws2")
        == .refused(.wrong(.locked(milliseconds: 60_000), failures: 3)),
      "the same one again counts again")
    guard case .refused(.locked) = try bed.enroll(byCode: code, at: "ws3") else {
      Issue.record("not locked")
      return
    }
    guard case .locked = try bed.attempt(TestBed.right) else {
      Issue.record("the passcode is not locked")
      return
    }
    #expect(bed.station() == 2 && bed.station("ws2") == 1)
    bed.bed.now += 70_000
    #expect(try bed.enroll(byCode: code) == .done)
  }

  @Test func `a charge that comes late shortens no delay of a code's`() throws {
    let bed = try FleetBed()
    try bed.invite()
    try bed.fail(2)
    bed.etcd.before = { if FleetBed.isCharge($0) { bed.bed.now += 18_000 } }
    #expect(try bed.enroll(byCode: wrong[0]) == .refused(.wrong(.locked(milliseconds: 60_000), failures: 3)))
    bed.bed.now += 59_000
    guard case .locked? = try bed.look() else {
      Issue.record("open too early")
      return
    }
  }

  @Test func `somebody without a passcode has a budget, too, which an administrator ends`() throws {
    let bed = try FleetBed(enrolled: false)
    try bed.invite()
    for index in 0..<3 { _ = try bed.enroll(byCode: wrong[index]) }
    try bed.invite()
    guard case .refused(.locked) = try bed.enroll(byCode: code) else {
      Issue.record("a new code has ended the lock")
      return
    }
    #expect(try bed.fleet().status(FleetBed.alice).state == .locked)
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    #expect(try bed.enroll(byCode: code) == .done)
  }

  @Test func `another account's code is a wrong one, even where it was put in the other's place`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try bed.invite()
    try bed.invite(bob, code: "ZZZZYYYY")
    #expect(try bed.enroll(byCode: "ZZZZYYYY") == .refused(.wrong(.open(attemptsLeft: 2), failures: 1)))
    let value = bed.etcd.value(FleetKeys.code(bob))
    bed.etcd.set(FleetKeys.code(FleetBed.alice), try #require(value))
    #expect(reason { try bed.enroll(byCode: "ZZZZYYYY") } == .sealedOtherwise)
    #expect(try bed.failures() == 1, "sealed for another account: found before the charge")
  }

  @Test func `a code isn't a passcode's credential, nor the other way round`() throws {
    let bed = try FleetBed()
    guard case .enrolled(let sealed)? = try bed.record()?.record.state else { return }
    bed.etcd.set(FleetKeys.code(FleetBed.alice), KeptCode(epoch: 1, sealed: sealed).encoded)
    #expect(reason { try bed.enroll(byCode: code) } == .sealedOtherwise)
  }

  @Test func `it ends with its lease, when it is withdrawn, and when the passcode is set or removed`() throws
  {
    let bed = try FleetBed()
    try bed.invite(seconds: 60)
    bed.bed.now += 61_000
    #expect(try bed.enroll(byCode: code) == .noCode)
    let ends: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().withdraw(FleetBed.alice) },
      { try $0.enroll("8305") },
      { _ = try $0.fleet().remove(FleetBed.alice) },
      { try $0.invite(code: "BBBBCCCC") },
    ]
    for end in ends {
      try bed.invite()
      try end(bed)
      let outcome = try bed.enroll(byCode: code)
      #expect(outcome != .done)
    }
    #expect(try bed.fleet().withdraw(Bytes(text: "bob")) == .noCode)
  }

  @Test func `of two workstations with the right one, one sets a passcode`() throws {
    let bed = try FleetBed()
    try bed.invite()
    var other: CodeOutcome?
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction), other == nil else { return }
      other = .noCode
      other = try? bed.enroll(byCode: self.code, new: "8305", at: "ws2")
    }
    #expect(try bed.enroll(byCode: code) == .noCode)
    #expect(other == .done)
    #expect(try bed.attempt("8305").isGranted)
  }

  @Test func `what happens between the charge and the end stops it, and the charge stays`() throws {
    let acts: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().disable(FleetBed.alice, true) }, { _ = try $0.fleet().withdraw(FleetBed.alice) },
    ]
    for act in acts {
      let bed = try FleetBed()
      try bed.invite()
      var isFirst = true
      bed.etcd.before = { transaction in
        let isSetting = transaction.actions.contains(.delete(FleetKeys.code(FleetBed.alice)))
        guard isSetting, isFirst else { return }
        isFirst = false
        try? act(bed)
      }
      let outcome = try? bed.enroll(byCode: code)
      #expect(outcome != .done)
      bed.etcd.before = { _ in }
      #expect(try bed.failures() == 1)
      _ = try bed.fleet().disable(FleetBed.alice, false)
      #expect(try bed.attempt(TestBed.right).isGranted, "the old passcode stands")
    }
  }

  @Test func `withdrawing a code that is used, or replaced, at the same moment says what became of it`()
    throws
  {
    let withdrawal = [EtcdTransaction.Action.delete(FleetKeys.code(FleetBed.alice))]
    let acts: [(FleetBed) throws -> Void] = [
      { _ = try $0.enroll(byCode: self.code) },
      { try $0.invite(code: "BBBBCCCC") },
      { _ = try $0.fleet().withdraw(FleetBed.alice) },
    ]
    for (act, expected) in zip(acts, [Withdrawal.used, .done, .noCode]) {
      let bed = try FleetBed()
      try bed.invite()
      var isFirst = true
      bed.etcd.before = { transaction in
        guard transaction.actions == withdrawal, isFirst else { return }
        isFirst = false
        do { try act(bed) } catch { Issue.record("\(error)") }
      }
      #expect(try bed.fleet().withdraw(FleetBed.alice) == expected)
      #expect(!isFirst && !isCode(bed))
      #expect(try bed.attempt(expected == .used ? fresh : TestBed.right).isGranted)
    }
  }

  @Test func `an answer that was lost is looked for, and one that was cut leaves everything`() throws {
    let bed = try FleetBed()
    try bed.invite()
    bed.etcd.mishap = { FleetStep($0) == .fence ? nil : .lost }
    #expect(try bed.enroll(byCode: code) == .done)
    bed.etcd.mishap = { _ in nil }
    try bed.invite()
    bed.etcd.mishap = { FleetBed.isCharge($0) ? .cut : nil }
    #expect(reason { try bed.enroll(byCode: code, new: "8305") } == .noEtcd)
    bed.etcd.mishap = { _ in nil }
    #expect(try isCode(bed) && bed.attempt(fresh).isGranted)
  }

  @Test func `a choice that is refused charges nothing, and leaves the code`() throws {
    let bed = try FleetBed()
    try bed.invite()
    #expect(weakness { try bed.enroll(byCode: code, new: "1234") } == .run)
    #expect(try bed.failures() == 0 && isCode(bed))
  }

  @Test func `a disabled one stays disabled, and root has none`() throws {
    let bed = try FleetBed()
    try bed.invite()
    _ = try bed.fleet().disable(FleetBed.alice, true)
    #expect(try bed.enroll(byCode: code) == .refused(.disabled))
    #expect(reason { try bed.invite(Bytes(text: "root")) } == .noAccount)
    #expect(reason { try bed.enroll(byCode: code, Bytes(text: "root")) } == .noAccount)
  }

  @Test func `one of an earlier epoch is none, and one of this epoch ends being locked out`() throws {
    let bed = try FleetBed()
    try bed.invite()
    try bed.raiseEpoch()
    #expect(try bed.enroll(byCode: code) == .noCode)
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 0))
    try bed.invite()
    _ = try bed.enroll(byCode: wrong[0])
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 1), "a wrong code ends no lockout")
    #expect(try bed.enroll(byCode: code) == .done)
    #expect(try bed.attempt(fresh).isGranted)
  }

  @Test func `the report tells of a code, and never tells the code`() throws {
    let bed = try FleetBed()
    #expect(try bed.fleet().report(FleetBed.alice).codeSeconds == nil)
    try bed.invite()
    #expect(try bed.fleet().report(FleetBed.alice).codeSeconds == 3_600)
    let value = try #require(bed.etcd.value(FleetKeys.code(FleetBed.alice)))
    #expect(!String(decoding: value, as: UTF8.self).contains(code))
    #expect(try bed.listed() == [FleetBed.alice])
  }

  @Test func `codes are drawn from all letters`() throws {
    let bed = try FleetBed(enrolled: false)
    let sodium = try #require(Sodium())
    var secrets = try bed.secrets(TestBed.right)
    var counts: [UInt8: Int] = [:]
    for _ in 0..<600 {
      secrets.passcode.draw(OneTimeCode.length, from: OneTimeCode.letters, sodium)
      let isCode = secrets.passcode.read { OneTimeCode.isCode($0) }
      #expect(isCode)
      secrets.passcode.read { for index in $0.indices { counts[$0[index], default: 0] += 1 } }
    }
    // 200 of each, give or take six standard deviations.
    #expect(counts.count == 24 && counts.values.allSatisfy { (115...285).contains($0) })
  }
}
