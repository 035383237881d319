import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeVault

struct AttemptTests {
  @Test func `the right passcode is granted and resets the ledger`() throws {
    let bed = try TestBed()
    try bed.fail(2)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.status().failures == 0)
    #expect(try bed.fail(1) == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `wrong ones are counted down, and then locked as the schedule says`() throws {
    let bed = try TestBed()
    #expect(try bed.fail(1) == .wrong(.open(attemptsLeft: 2), failures: 1))
    #expect(try bed.attempt("2604") == .wrong(.open(attemptsLeft: 1), failures: 2))
    #expect(try bed.attempt("3715") == .wrong(.locked(milliseconds: 60_000), failures: 3))
  }

  @Test func `while locked the right one is refused, and nothing is written`() throws {
    let bed = try TestBed()
    try bed.fail(3)
    let before = try bed.record()
    #expect(try bed.attempt(TestBed.right) == .locked(milliseconds: 60_000, failures: 3))
    #expect(try bed.look() == .locked(milliseconds: 60_000, failures: 3))
    #expect(try bed.record() == before)
  }

  @Test func `the whole schedule, step by step`() throws {
    let bed = try TestBed()
    let delays: [UInt64] = [0, 0, 60, 60, 300, 300, 900, 900, 3_600]
    for (index, delay) in delays.enumerated() {
      let failures = UInt32(index + 1)
      let left = Standing.open(attemptsLeft: 3 - min(failures, 2))
      let standing = delay == 0 ? left : Standing.locked(milliseconds: delay * 1_000)
      #expect(try bed.attempt(TestBed.wrong[index]) == .wrong(standing, failures: failures))
      bed.now += delay * 1_000
    }
    #expect(try bed.attempt(TestBed.wrong[9]) == .wrong(.exhausted, failures: 10))
    bed.now += 1 << 40
    bed.reboot()
    #expect(try bed.attempt(TestBed.right) == .exhausted(failures: 10))
    #expect(try bed.vault.unlock(bed.account, by: .direct) == true)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  @Test(arguments: ["000471", "047100", "471000", "047104"])
  func `another length than the enrolled one counts like any other`(code: String) throws {
    let bed = try TestBed()
    #expect(try bed.attempt(code) == .wrong(.open(attemptsLeft: 2), failures: 1))
  }

  @Test func `nobody is asked who has no passcode`() throws {
    let bed = try TestBed(enrolled: false)
    #expect(try bed.look() == .notEnrolled)
    #expect(try bed.attempt(TestBed.right) == .notEnrolled)
    #expect(throws: Never.self) { try bed.status() }
  }

  @Test func `a paused one is refused and not charged, whatever is typed or touched, until it is resumed`()
    throws
  {
    let bed = try TestBed()
    #expect(try bed.vault.pause(bed.account, true) == true)
    #expect(try bed.vault.pause(bed.account, true) == false)
    #expect(try bed.look() == .notPermitted(.paused))
    for code in [TestBed.right, "1593"] { #expect(try bed.attempt(code) == .notPermitted(.paused)) }
    #expect(try bed.accept(Self.match) == .notPermitted(.paused))
    #expect(try bed.vault.status(bed.account).state == .paused)
    #expect(try bed.vault.status(bed.account).failures == 0)
    #expect(try bed.vault.pause(bed.account, false) == true)
    #expect(try bed.vault.pause(bed.account, false) == false)
    #expect(try bed.attempt(TestBed.right) == .granted())
    let nobody = try TestBed(enrolled: false)
    #expect(try nobody.vault.pause(nobody.account, true) == nil)
  }

  @Test func `a disabled one is refused and not charged`() throws {
    let bed = try TestBed()
    #expect(try bed.vault.disable(bed.account, true) == true)
    let before = try bed.record()
    #expect(try bed.look() == .disabled)
    #expect(try bed.attempt(TestBed.right) == .disabled)
    #expect(try bed.attempt("1593") == .disabled)
    #expect(try bed.record() == before)
  }

  @Test func `another machine key is unavailable and never counts`() throws {
    let bed = try TestBed()
    let key = bed.folder.appendingPathComponent("key")
    try FileManager.default.removeItem(at: key)
    try Data(repeating: 7, count: 32).write(to: key)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: key.path)
    let before = try bed.record()
    for code in [TestBed.right, "1593"] {
      guard case .unavailable(let fault) = try bed.attempt(code) else {
        Issue.record("decided without the key")
        return
      }
      #expect(fault.reason == .sealedOtherwise)
    }
    #expect(try bed.record() == before)
  }

  @Test func `without a clock nothing is decided and nothing charged`() throws {
    let bed = try TestBed()
    bed.clockFails = true
    let before = try bed.record()
    guard case .unavailable(let fault) = try bed.attempt(TestBed.right) else {
      Issue.record("decided without a clock")
      return
    }
    #expect(fault.reason == .noBootClock)
    #expect(try bed.record() == before)
  }

  // MARK: Patience

  @Test func `who gets in is told what failed before, when and where`() throws {
    let bed = try TestBed()
    bed.service = "login"
    try bed.fail(2)
    bed.wall += 60
    bed.service = "su do;x"
    _ = try bed.attempt(TestBed.wrong[2])
    let last = bed.wall
    bed.wall += 3_600
    bed.now += 60_000
    bed.service = "sudo"
    let earlier = FailedAttempts(count: 3, time: last, service: Bytes(text: "sudox"))
    #expect(try bed.attempt(TestBed.right) == .granted(earlier))
    #expect(
      try bed.attempt(TestBed.right)
        == .granted(FailedAttempts(count: 0, time: last, service: earlier.service)))
    #expect(try bed.status().lastFailure == last)
    #expect(try bed.status().failureService == earlier.service)
  }

  // MARK: Another cost

  @Test func `a granted passcode is hashed again at the cost that is configured by now, and once`() throws {
    let bed = try TestBed()
    let old = try bed.mark()
    bed.cost = Options.Cost(operations: 2, memory: 8_192)
    guard case .wrong = try bed.attempt("1593") else {
      Issue.record("not wrong")
      return
    }
    #expect(try bed.mark() == old)
    #expect(try bed.attempt(TestBed.right).isGranted)
    let new = try bed.mark()
    #expect(new != old)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.mark() == new)
  }

  @Test func `a passcode that can't be hashed again is granted, and stays as it is`() throws {
    let bed = try TestBed()
    let old = try bed.mark()
    let before = try #require(try bed.contents()).record.generation
    // More than Argon2 takes.
    bed.cost = Options.Cost(operations: 1, memory: 1 << 47)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.mark() == old)
    // The charge, and that it is taken back.
    #expect(try bed.contents()?.record.generation == before + 2)
    #expect(try bed.attempt(TestBed.right).isGranted)
  }

  // MARK: A second factor

  /// How somebody without the administrator, but with the password, could come to a passcode that counts.
  @Test(arguments: [
    "root", "root, changed", "root, unlocked by root", "password", "password, changed",
    "unlocked by password",
    "unlocked by password, changed", "removed and enrolled by password", "before",
    "unlocked by password, then enrolled by root",
  ])
  func `a second factor is a passcode that only an administrator had a hand in`(way: String) throws {
    let bed = try TestBed(enrolled: false)
    try bed.come(way)
    let isRoots = [
      "root", "root, changed", "root, unlocked by root", "unlocked by password, then enrolled by root",
    ]
    bed.isSecondFactor = true
    let before = try bed.record()
    if isRoots.contains(way) {
      #expect(try bed.look() == nil)
      #expect(try bed.attempt(TestBed.right).isGranted)
    } else {
      #expect(try bed.look() == .notPermitted(.notAdministrators))
      #expect(try bed.attempt(TestBed.right) == .notPermitted(.notAdministrators))
      #expect(try bed.attempt(TestBed.wrong[0]) == .notPermitted(.notAdministrators))
      #expect(try bed.record() == before, "a refused one was counted")
    }
    bed.isSecondFactor = false
    #expect(try bed.attempt(TestBed.right).isGranted, "elsewhere it goes on working")
  }

  // MARK: The finger

  private static let match: FingerTranscript = {
    var transcript = FingerTranscript()
    _ = transcript.take(.watching) && transcript.take(.matched(serial: 1, milliseconds: 1_000_000))
    return transcript
  }()

  @Test func `Enter without a match is refused, and touches nothing`() throws {
    let bed = try TestBed()
    let before = try bed.record()
    var transcript = FingerTranscript()
    for event in [FingerEvent.watching, .noMatch] { _ = transcript.take(event) }
    #expect(try bed.accept(transcript) == .fingerRefused(.noMatch))
    #expect(try bed.accept(FingerTranscript(ended: .gone)) == .fingerRefused(.gone))
    #expect(try bed.record() == before)
  }

  @Test func `a match that is too old, or that nobody charged, is refused`() throws {
    let bed = try TestBed()
    #expect(try bed.accept(Self.match) == .fingerRefused(.tooLate))
    bed.now += 10_001
    #expect(try bed.accept(Self.match) == .fingerRefused(.tooLate))
  }

  @Test func `a match opens nothing that the passcode wouldn't`() throws {
    let locked = try TestBed()
    try locked.fail(3)
    #expect(try locked.accept(Self.match) == .locked(milliseconds: 60_000, failures: 3))
    let disabled = try TestBed()
    #expect(try disabled.vault.disable(disabled.account, true) == true)
    #expect(try disabled.accept(Self.match) == .disabled)
    #expect(try TestBed(enrolled: false).accept(Self.match) == .notEnrolled)
    let damaged = try TestBed()
    try damaged.damage(0, 1)
    guard case .unavailable = try damaged.accept(Self.match) else {
      Issue.record("decided")
      return
    }
    let foreign = try TestBed()
    try foreign.replaceKey()
    guard case .unavailable(let fault) = try foreign.accept(Self.match) else {
      Issue.record("decided by a record whose seal doesn't open")
      return
    }
    #expect(fault.reason == .sealedOtherwise)
  }

  /// A finger would open it any number of times: spending it is the passcode's part.
  @Test func `a match opens no passcode that was given out for one login`() throws {
    let bed = try TestBed(enrolled: false)
    var terms = NewTerms()
    terms.mustChange = true
    try bed.enroll(TestBed.right, on: terms)
    #expect(try bed.accept(Self.match) == .fingerRefused(.oneLogin))
    #expect(try bed.takesFinger() == false)
    #expect(try bed.attempt(TestBed.right).isGranted)
    #expect(try bed.accept(Self.match) == .mustChange)
    try bed.enroll(TestBed.right)
    #expect(try bed.accept(Self.match) == .fingerRefused(.tooLate))
    #expect(try bed.takesFinger() == true)
    terms.mustChange = false
    terms.seconds = 60
    try bed.enroll(TestBed.right, on: terms)
    #expect(try bed.takesFinger() == true)
    #expect(try bed.accept(Self.match) == .fingerRefused(.tooLate))
    bed.now += 61_000
    bed.wall += 61
    #expect(try bed.accept(Self.match) == .expired)
  }

  /// Set while the prompt stands: it is decided again under the lock.
  @Test func `a match is refused, too, where the terms came after the look`() throws {
    let bed = try TestBed()
    #expect(try bed.takesFinger() == true)
    try bed.change { $0.terms.change = .afterLogin }
    #expect(try bed.accept(Self.match) == .fingerRefused(.oneLogin))
  }

  /// MUST 5: nobody can grant by accident where granting is one line of each kind of attempt.
  @Test func `granted comes from one line, a fleet's from another, and fingerGranted from a third`() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
    var lines: [String: [String]] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: sources.path)
    where name.hasSuffix(".swift") && ["PasscodeVault/", "PasscodeFleet/"].contains(where: name.hasPrefix) {
      let text = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
      let found = text.split(separator: "\n").map(String.init).filter {
        $0.lowercased().contains("granted") && $0.contains(".") && !$0.contains("isGranted")
          && !$0.contains("!= .granted") && !$0.contains("//")
      }
      if !found.isEmpty { lines[name] = found.map { $0.trimmingCharacters(in: .whitespaces) } }
    }
    #expect(
      lines == [
        "PasscodeVault/Attempt/Attempt.swift": ["return .granted(before.failedAttempts)"],
        "PasscodeVault/Attempt/Attempt+Finger.swift": ["return .fingerGranted"],
        "PasscodeFleet/FleetLogin.swift": ["return .granted(charge.before.failedAttempts)"],
      ])
  }
}
