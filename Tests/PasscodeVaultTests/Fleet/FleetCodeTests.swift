import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeVault

/// One-time codes: the MUST list is in OneTimeCode.swift.
struct FleetCodeTests {
  private let code = "KTMXRWPB"
  private let wrong = ["KTMXRWPC", "AAAAAAAA", "BTMXRWPK", "KTMXRWPD"]
  private let fresh = "8264"

  private func secrets(_ code: String, new: String, _ bed: FleetBed) throws -> Secrets {
    var secrets = try bed.secrets(new)
    secrets.type(code: code)
    return secrets
  }

  private func invite(
    _ bed: FleetBed, _ account: Bytes = FleetBed.alice, code: String = "KTMXRWPB", seconds: UInt64 = 3_600
  ) throws {
    var secrets = try secrets(code, new: fresh, bed)
    try secrets.invite(account, bed.fleet(), seconds: seconds)
  }

  private func enroll(
    _ code: String, _ bed: FleetBed, _ account: Bytes = FleetBed.alice, new: String = "8264",
    at workstation: String = "ws1"
  ) throws -> CodeOutcome {
    var secrets = try secrets(code, new: new, bed)
    let login = FleetLogin(
      try bed.fleet(), account: account, workstation: Bytes(text: workstation), service: [])
    return try secrets.enroll(login)
  }

  private func isCode(_ bed: FleetBed) -> Bool { bed.etcd.value(FleetKeys.code(FleetBed.alice)) != nil }

  @Test func `with a code somebody without a passcode sets the first one, once`() throws {
    let bed = try FleetBed(enrolled: false)
    #expect(try enroll(code, bed) == .noCode)
    try invite(bed)
    #expect(try bed.look() == .notEnrolled, "it opens no login")
    #expect(try enroll(code, bed) == .done)
    #expect(try bed.attempt(fresh).isGranted)
    #expect(try enroll(code, bed, new: "8305") == .noCode)
    #expect(!isCode(bed) && bed.station() == 0, "neither code nor charge is left")
    #expect(try bed.record()?.record.isAdministrators == true)
  }

  @Test func `it replaces a forgotten passcode, and letters of either size are one`() throws {
    let bed = try FleetBed()
    try bed.fail(2)
    try invite(bed)
    #expect(try enroll("ktmx-rwpb", bed) == .done)
    #expect(try bed.attempt(fresh).isGranted && bed.failures() == 0)
    #expect(try bed.attempt(TestBed.right) == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `wrong ones are charged in the account's budget, each of them, and lock`() throws {
    let bed = try FleetBed()
    try invite(bed)
    try bed.fail(1)
    #expect(try enroll(wrong[0], bed) == .refused(.wrong(.open(attemptsLeft: 1), failures: 2)))
    #expect(
      try enroll(wrong[0], bed, at: "ws2") == .refused(.wrong(.locked(milliseconds: 60_000), failures: 3)),
      "the same one again counts again")
    guard case .refused(.locked) = try enroll(code, bed, at: "ws3") else {
      Issue.record("not locked")
      return
    }
    guard case .locked = try bed.attempt(TestBed.right) else {
      Issue.record("the passcode is not locked")
      return
    }
    #expect(bed.station() == 2 && bed.station("ws2") == 1)
    bed.bed.now += 70_000
    #expect(try enroll(code, bed) == .done)
  }

  @Test func `a charge that comes late shortens no delay of a code's`() throws {
    let bed = try FleetBed()
    try invite(bed)
    try bed.fail(2)
    bed.etcd.before = { if FleetBed.isCharge($0) { bed.bed.now += 18_000 } }
    #expect(try enroll(wrong[0], bed) == .refused(.wrong(.locked(milliseconds: 60_000), failures: 3)))
    bed.bed.now += 59_000
    guard case .locked? = try bed.look() else {
      Issue.record("open too early")
      return
    }
  }

  @Test func `somebody without a passcode has a budget, too, which an administrator ends`() throws {
    let bed = try FleetBed(enrolled: false)
    try invite(bed)
    for index in 0..<3 { _ = try enroll(wrong[index], bed) }
    try invite(bed)
    guard case .refused(.locked) = try enroll(code, bed) else {
      Issue.record("a new code has ended the lock")
      return
    }
    #expect(try bed.fleet().status(FleetBed.alice).state == .locked)
    #expect(try bed.fleet().unlock(FleetBed.alice) == true)
    #expect(try enroll(code, bed) == .done)
  }

  @Test func `another account's code is a wrong one, even where it was put in the other's place`() throws {
    let bed = try FleetBed()
    let bob = Bytes(text: "bob")
    try invite(bed)
    try invite(bed, bob, code: "ZZZZYYYY")
    #expect(try enroll("ZZZZYYYY", bed) == .refused(.wrong(.open(attemptsLeft: 2), failures: 1)))
    let value = bed.etcd.value(FleetKeys.code(bob))
    bed.etcd.set(FleetKeys.code(FleetBed.alice), try #require(value))
    #expect(reason { try enroll("ZZZZYYYY", bed) } == .sealedOtherwise)
    #expect(try bed.failures() == 1, "sealed for another account: found before the charge")
  }

  @Test func `a code isn't a passcode's credential, nor the other way round`() throws {
    let bed = try FleetBed()
    guard case .enrolled(let sealed)? = try bed.record()?.record.state else { return }
    bed.etcd.set(FleetKeys.code(FleetBed.alice), OneTimeCode(epoch: 1, sealed: sealed).encoded)
    #expect(reason { try enroll(code, bed) } == .sealedOtherwise)
  }

  @Test func `it ends with its lease, when it is withdrawn, and when the passcode is set or removed`() throws
  {
    let bed = try FleetBed()
    try invite(bed, seconds: 60)
    bed.bed.now += 61_000
    #expect(try enroll(code, bed) == .noCode)
    let ends: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().withdraw(FleetBed.alice) },
      { try $0.enroll("8305") },
      { _ = try $0.fleet().remove(FleetBed.alice) },
      { try self.invite($0, code: "BBBBCCCC") },
    ]
    for end in ends {
      try invite(bed)
      try end(bed)
      let outcome = try enroll(code, bed)
      #expect(outcome != .done)
    }
    #expect(try bed.fleet().withdraw(Bytes(text: "bob")) == .noCode)
  }

  @Test func `of two workstations with the right one, one sets a passcode`() throws {
    let bed = try FleetBed()
    try invite(bed)
    var other: CodeOutcome?
    bed.etcd.before = { transaction in
      guard FleetBed.isCharge(transaction), other == nil else { return }
      other = .noCode
      other = try? self.enroll(self.code, bed, new: "8305", at: "ws2")
    }
    #expect(try enroll(code, bed) == .noCode)
    #expect(other == .done)
    #expect(try bed.attempt("8305").isGranted)
  }

  @Test func `what happens between the charge and the end stops it, and the charge stays`() throws {
    let acts: [(FleetBed) throws -> Void] = [
      { _ = try $0.fleet().disable(FleetBed.alice, true) }, { _ = try $0.fleet().withdraw(FleetBed.alice) },
    ]
    for act in acts {
      let bed = try FleetBed()
      try invite(bed)
      var isFirst = true
      bed.etcd.before = { transaction in
        let isSetting = transaction.actions.contains(.delete(FleetKeys.code(FleetBed.alice)))
        guard isSetting, isFirst else { return }
        isFirst = false
        try? act(bed)
      }
      let outcome = try? enroll(code, bed)
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
      { _ = try self.enroll(self.code, $0) },
      { try self.invite($0, code: "BBBBCCCC") },
      { _ = try $0.fleet().withdraw(FleetBed.alice) },
    ]
    for (act, expected) in zip(acts, [Withdrawal.used, .done, .noCode]) {
      let bed = try FleetBed()
      try invite(bed)
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
    try invite(bed)
    bed.etcd.mishap = { _ in .lost }
    #expect(try enroll(code, bed) == .done)
    bed.etcd.mishap = { _ in nil }
    try invite(bed)
    bed.etcd.mishap = { FleetBed.isCharge($0) ? .cut : nil }
    #expect(reason { try enroll(code, bed, new: "8305") } == .noEtcd)
    bed.etcd.mishap = { _ in nil }
    #expect(try isCode(bed) && bed.attempt(fresh).isGranted)
  }

  @Test func `a choice that is refused charges nothing, and leaves the code`() throws {
    let bed = try FleetBed()
    try invite(bed)
    #expect(weakness { try enroll(code, bed, new: "1234") } == .run)
    #expect(try bed.failures() == 0 && isCode(bed))
  }

  @Test func `a disabled one stays disabled, and root has none`() throws {
    let bed = try FleetBed()
    try invite(bed)
    _ = try bed.fleet().disable(FleetBed.alice, true)
    #expect(try enroll(code, bed) == .refused(.disabled))
    #expect(reason { try invite(bed, Bytes(text: "root")) } == .noAccount)
    #expect(reason { try enroll(code, bed, Bytes(text: "root")) } == .noAccount)
  }

  @Test func `one of an earlier epoch is none, and one of this epoch ends being locked out`() throws {
    let bed = try FleetBed()
    try invite(bed)
    let path = URL(fileURLWithPath: String(decoding: bed.keyPath, as: UTF8.self))
    var key = try Data(contentsOf: path)
    key[32] += 1
    try FileManager.default.removeItem(at: path)
    try key.write(to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path.path)
    #expect(try enroll(code, bed) == .noCode)
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 0))
    try invite(bed)
    _ = try enroll(wrong[0], bed)
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 1), "a wrong code ends no lockout")
    #expect(try enroll(code, bed) == .done)
    #expect(try bed.attempt(fresh).isGranted)
  }

  @Test func `the report tells of a code, and never tells the code`() throws {
    let bed = try FleetBed()
    #expect(try bed.fleet().report(FleetBed.alice).codeSeconds == nil)
    try invite(bed)
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

extension Secrets {
  fileprivate mutating func type(code: String) {
    let typed = line.take(Bytes(text: code))
    let taken = passcode.takeCode(line)
    #expect(typed == true && taken == true)
  }

  fileprivate mutating func invite(_ account: Bytes, _ fleet: FleetVault<FakeEtcd>, seconds: UInt64) throws {
    try fleet.invite(account, passcode, seconds: seconds, &unsealed)
  }

  fileprivate mutating func enroll(_ login: borrowing FleetLogin<FakeEtcd>) throws -> CodeOutcome {
    try login.enroll(byCode: passcode, change, &unsealed)
  }
}
