import Foundation
import PasscodeSystem
import Testing

@testable import PasscodeAdmin
@testable import PasscodePolicy
@testable import PasscodeVault

/// Enrolling, removing, unlocking, disabling, and records that were damaged.
struct RecordTests {
  @Test(arguments: [
    ([], true), ([0], true), ([1], false), ([0, 1], false), ([1, 0], false), ([1, 1], false),
    (Bytes(repeating: 0, count: 3_500), true), (Bytes(repeating: 0xff, count: 3_500), false),
  ])
  func `what is zero`(bytes: Bytes, isIt: Bool) {
    #expect(isZero(bytes[...]) == isIt)
    #expect(isZero(([7] + bytes).dropFirst()) == isIt)
  }

  @Test func `padding is zero to its last byte`() {
    let slot = recordCodec.encode(Record(uid: 1_000, name: Bytes(text: "alice"), generation: 1))
    let text = slot.prefix { $0 != 0 }.count
    #expect(recordCodec.decode(slot[...]) != nil)
    for place in [text, text + 1, slot.count - 1] {
      var changed = slot
      changed[place] = 0xff
      #expect(recordCodec.decode(changed[...]) == nil)
    }
    #expect(
      recordCodec.decode((slot[..<text] + Bytes(repeating: 0xff, count: slot.count - text))[...]) == nil)
  }

  @Test func `BLAKE2b-256 of nothing and of "abc"`() {
    let sums = [
      ("", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
      ("abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
    ]
    for (message, sum) in sums {
      #expect(hexadecimal(blake2b(Bytes(text: message)[...])) == Bytes(text: sum))
    }
  }

  @Test func `a new passcode ends locked and exhausted`() throws {
    for failures in [3, 10] {
      let bed = try TestBed(lockout: "3:1m,10:reset")
      for code in TestBed.wrong.prefix(failures) {
        _ = try bed.attempt(code)
        bed.now += 60_000
      }
      try bed.enroll("8264")
      #expect(try bed.status().failures == 0)
      #expect(try bed.attempt("8264").isGranted)
      guard case .wrong = try bed.attempt(TestBed.right) else {
        Issue.record("the old one still works")
        return
      }
    }
  }

  @Test func `a suspension survives removal and enrolment`() throws {
    let bed = try TestBed()
    #expect(try bed.vault.disable(bed.account, true) == true)
    #expect(try bed.vault.remove(bed.account))
    #expect(try bed.status().state == .disabled)
    try bed.enroll(TestBed.right)
    #expect(try bed.attempt(TestBed.right) == .disabled)
    #expect(try bed.vault.disable(bed.account, false) == true)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `neither an unlock nor a success ends a suspension`() throws {
    let bed = try TestBed()
    try bed.fail(3)
    #expect(try bed.vault.disable(bed.account, true) == true)
    #expect(try bed.vault.unlock(bed.account, by: .direct) == true)
    #expect(try bed.attempt(TestBed.right) == .disabled)
  }

  @Test func `a removal leaves the credential in neither copy`() throws {
    let bed = try TestBed()
    guard case .enrolled(let sealed)? = try bed.contents()?.record.state else {
      Issue.record("not enrolled")
      return
    }
    #expect(try bed.vault.remove(bed.account))
    let text = String(decoding: try bed.record(), as: UTF8.self)
    #expect(!text.contains(String(decoding: hexadecimal(sealed), as: UTF8.self)))
    #expect(text.components(separatedBy: "state=removed\n").count == 3)
    #expect(try bed.attempt(TestBed.right) == .notEnrolled)
    #expect(try bed.vault.remove(bed.account) == false)
  }

  @Test func `a change is refused where the passcode is another one by now`() throws {
    let bed = try TestBed()
    let mark = try bed.mark()
    try bed.enroll("8264")
    #expect(reason { try bed.enroll("9375", by: .passcode(mark)) } == .changedMeanwhile)
    #expect(try bed.attempt("8264").isGranted)
  }

  @Test func `an attempt leaves the mark of a credential as it is`() throws {
    let bed = try TestBed()
    let mark = try bed.mark()
    try bed.fail(2)
    _ = try bed.attempt(TestBed.right)
    #expect(try bed.mark() == mark)
    try bed.enroll(TestBed.right)
    #expect(try bed.mark() != mark)
  }

  @Test func `the key is never made anew while somebody is enrolled`() throws {
    let bed = try TestBed()
    try FileManager.default.removeItem(at: bed.folder.appendingPathComponent("key"))
    #expect(reason { try bed.vault.createKey() } == .keyNeeded)
    try bed.damage(0, 1)  // may hold one
    #expect(reason { try bed.vault.createKey() } == .keyNeeded)
    #expect(try bed.vault.remove(bed.account))  // needs no key
    try bed.vault.createKey()
  }

  // MARK: Damage

  @Test(arguments: [0, 1])
  func `one damaged copy: the other serves, it is logged, and repaired at the next write`(slot: Int) throws {
    let bed = try TestBed()
    try bed.damage(slot)
    #expect(try bed.look() == nil)
    #expect(bed.logged.contains { $0.contains("copy") && $0.contains("damaged") })
    #expect(try bed.contents()?.damaged == true)
    guard case .wrong = try bed.attempt("1593") else {
      Issue.record("not decided")
      return
    }
    #expect(try bed.contents()?.damaged == false)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test func `damage gives at most the last charge back`() throws {
    for slot in [0, 1] {
      let bed = try TestBed()
      try bed.fail(2)
      try bed.damage(slot)
      #expect((1...2).contains(try bed.status().failures))
    }
  }

  @Test(arguments: ["unlocked", "removed", "enrolled", "disabled"])
  func `damage brings nothing back that an administrator changed`(act: String) throws {
    for slot in [0, 1] {
      let bed = try TestBed()
      try bed.fail(3)
      switch act {
      case "unlocked": _ = try bed.vault.unlock(bed.account, by: .direct)
      case "removed": _ = try bed.vault.remove(bed.account)
      case "enrolled": try bed.enroll("8264")
      default: _ = try bed.vault.disable(bed.account, true)
      }
      let after = try bed.status()
      try bed.damage(slot)
      #expect(try bed.status() == after)
    }
  }

  @Test func `two damaged copies are unavailable until root enrols or removes`() throws {
    let bed = try TestBed()
    try bed.fail(1)
    try bed.damage(0, 1)
    let before = try bed.record()
    for code in [TestBed.right, "2604"] {
      guard case .unavailable(let fault) = try bed.attempt(code) else {
        Issue.record("decided from a damaged record")
        return
      }
      #expect(fault.reason == .damagedRecord)
    }
    #expect(try bed.status().state == .corrupt)
    #expect(reason { try bed.vault.unlock(bed.account, by: .direct) } == .damagedRecord)
    #expect(reason { try bed.vault.disable(bed.account, true) } == .damagedRecord)
    #expect(try bed.record() == before)
    try bed.enroll("8264")
    #expect(try bed.attempt("8264").isGranted)
  }

  @Test(arguments: [0, 1, 4_096, 8_191, 8_193])
  func `a record of another length is damaged`(length: Int) throws {
    let bed = try TestBed()
    let whole = try bed.record() + Data([0])
    let path = bed.folder.appendingPathComponent("store/\(bed.account.uid)").path
    try #require(truncate(path, 0) == 0)
    try bed.overwrite(whole.prefix(length))
    #expect(try bed.status().state == .corrupt)
    try bed.enroll("8264")
    #expect(try bed.record().count == RecordCodec.fileLength)
    #expect(try bed.attempt("8264").isGranted)
  }

  // MARK: Choosing

  @Test(
    arguments: [
      ("8305", .refuse, true), ("1234", .refuse, false), ("1234", .warn, true), ("1234", .allow, true),
      ("193746", .refuse, true), ("123456", .refuse, false),
    ] as [(String, Options.Weak, Bool)])
  func `the vault itself refuses what may not be chosen`(code: String, weak: Options.Weak, isSet: Bool) throws
  {
    let bed = try TestBed()
    bed.weak = weak
    let before = try bed.record()
    if isSet {
      try bed.enroll(code)
      #expect(try bed.attempt(code).isGranted)
    } else {
      #expect(weakness { try bed.enroll(code) } == .run)
      #expect(try bed.record() == before)
    }
  }

  /// "1234" for "4321" is both; what is near the old one is said first.
  @Test func `a change asks for both: is it near the old one, and is it weak in itself`() throws {
    let bed = try TestBed()
    #expect(weakness { try bed.enroll("4072", old: "2704") } == .oldReversed)
    #expect(weakness { try bed.enroll("1234", old: "2704") } == .run)
    #expect(weakness { try bed.enroll("1234", old: "4321") } == .oldReversed)
    try bed.enroll("8068", old: "2704")
  }

  @Test func `a length that isn't configured is refused, whatever program asks`() throws {
    let bed = try TestBed()
    bed.lengths = Options.Lengths(four: false, six: true)
    #expect(throws: EnrolmentError.refused(.length)) { try bed.enroll("8305") }
    #expect(try bed.attempt(TestBed.right).isGranted)
    try bed.enroll("193746")
  }
}
