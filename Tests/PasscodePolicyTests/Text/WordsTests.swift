import Testing

@testable import PasscodePolicy

struct WordsTests {
  private func when(_ seconds: UInt64) -> Bytes {
    Bytes(text: seconds == 1_000 ? "03:12" : "?")
  }

  private func notice(_ verdict: Verdict) -> Text? {
    Words.notice(verdict, in: Sentence.inEnglish, time: when)
  }

  private func prompt(either: Bool, finger: Bool) -> String {
    text(Words.prompt(either: either, finger: finger).english)
  }

  @Test(
    arguments: [
      (.wrong(.open(attemptsLeft: 2), failures: 1), "Wrong passcode, 2 attempts left."),
      (.wrong(.open(attemptsLeft: 1), failures: 1), "Wrong passcode, 1 attempt left."),
      (.wrong(.locked(milliseconds: 60_000), failures: 1), "Passcode locked (1 minute left to unlock)."),
      (.locked(milliseconds: 180_000, failures: 1), "Passcode locked (3 minutes left to unlock)."),
      (.locked(milliseconds: 45_000, failures: 1), "Passcode locked (45 seconds left to unlock)."),
      (
        .wrong(.exhausted, failures: 1), "Passcode locked out after too many attempts. Use your password."
      ),
      (
        .exhausted(failures: 10), "Passcode locked out after too many attempts. Use your password."
      ),
      (.disabled, "Passcode disabled by the administrator."),
      (.expired, "Passcode expired. Use your password."),
      (
        .mustChange, "Use your password now, then set your own passcode (passcode change)."
      ),
      (
        .notPermitted(.notAdministrators),
        "Your passcode can't be used here: ask an administrator to set a new one."
      ),
      (
        .notPermitted(.workstation), "Too many wrong passcodes on this workstation. Use your password."
      ),
      (.notPermitted(.paused), "Passcode paused. Use your password."),
      (
        .notPermitted(.passwordDue), "Use your password this time. It is required from time to time."
      ),
      (.notPermitted(.fingerNeeded), "Passcode needs a matching fingerprint. Use your password."),
    ] as [(Verdict, String)])
  func `each refusal says what happened and how it goes on`(verdict: Verdict, words: String) {
    #expect(notice(verdict).map { text($0) } == words)
  }

  @Test(
    arguments: [
      .wrong(.open(attemptsLeft: .max), failures: 1), .locked(milliseconds: 172_800_000, failures: 1),
      .exhausted(failures: .max), .disabled, .expired, .mustChange, .notPermitted(.firstLogin),
      .notPermitted(.notAdministrators), .notPermitted(.workstation), .notPermitted(.paused),
      .notPermitted(.passwordDue), .notPermitted(.fingerNeeded),
      .granted(FailedAttempts(count: 999, time: 1_000, service: Bytes(text: "a-locker"))),
    ] as [Verdict])
  func `each fits a line of 80 columns`(verdict: Verdict) throws {
    let notice = try #require(
      Words.notice(verdict, in: Sentence.inEnglish, time: { _ in Bytes(text: "2026-11-22 03:12") }))
    #expect(notice.bytes.count <= 80)
  }

  /// Each outcome at the reader: its word in the log, and what Enter alone is told.
  private static let outcomes: [(FingerOutcome, word: String, notice: String?)] = [
    (.matched, "match", nil),
    (.unused, "unused", "The fingerprint reader can't be used now. Use your passcode."),
    (.tooLate, "too-late", "That touch no longer counts. Next time, press Enter within 10 seconds of it."),
    (.noMatch, "no-match", "Fingerprint not recognised."),
    (.noTouch, "no-touch", "No touch. Next time, touch the reader before you press Enter."),
    (.passcodeFirst, "passcode-first", "Type your passcode this time. Then your fingerprint works again."),
    (.notReady, "not-ready", "The fingerprint reader can't be used now. Use your passcode."),
    (.tries, "tries", "Fingerprint not recognised."),
    (.printsChanged, "prints-changed", "Your fingerprints may have changed. Type your passcode this time."),
    (.off, "off", "Fingerprint off: use your passcode."),
    (.time, "time", "No touch within 30 seconds."),
    (.gone, "gone", "The fingerprint reader was disconnected. Use your passcode."),
    (.notEnrolled, "not-enrolled", "No fingerprint is enrolled: run fprintd-enroll."),
    (.noReader, "no-reader", "No fingerprint reader. Use your passcode."),
    (.inUse, "in-use", "The fingerprint reader can't be used now. Use your passcode."),
  ]

  @Test(arguments: outcomes)
  private func `each outcome at the reader is told apart`(
    outcome: FingerOutcome, word: String, notice: String?
  ) {
    #expect(outcome.word == Bytes(text: word))
    #expect(self.notice(.fingerRefused(outcome)).map { text($0) } == notice)
    #expect(notice?.utf8.count ?? 0 <= 80)
  }

  @Test func `the seconds in notices of the reader are those that count`() {
    #expect(FingerTranscript.matchIsFresh == 10_000 && FingerTranscript.longest == 30_000)
  }

  @Test func `the prompt says what may be used`() {
    #expect(prompt(either: false, finger: false) == "Passcode:")
    #expect(prompt(either: false, finger: true) == "Passcode or fingerprint:")
    #expect(prompt(either: true, finger: false) == "Passcode or password:")
    #expect(prompt(either: true, finger: true) == "Passcode, password or fingerprint:")
  }

  @Test(arguments: [
    Verdict.granted(), .fingerGranted, .notEnrolled, .notPermitted(.otherAccount), .notPermitted(.remote),
    .unavailable(Fault(.noKey)),
  ])
  func `what is another module's to say is not said`(verdict: Verdict) {
    #expect(notice(verdict) == nil)
  }

  @Test(
    arguments: [
      (0, 1_000, "sudo", nil), (2, 1_000, "sudo", nil),
      (3, 1_000, "sudo", "3 wrong passcodes since your last login, the last at 03:12 (sudo)."),
      (7, 1_000, "", "7 wrong passcodes since your last login, the last at 03:12."),
      (7, 0, "", "7 wrong passcodes since your last login."),
    ] as [(UInt32, UInt64, String, String?)])
  func `who logs in hears of three failures or more`(
    count: UInt32, time: UInt64, service: String, words: String?
  ) {
    let earlier = FailedAttempts(count: count, time: time, service: Bytes(text: service))
    #expect(notice(.granted(earlier)).map { text($0) } == words)
  }

  @Test(arguments: [1, 60_000, 3_600_000, 2_592_000_000] as [UInt64])
  func `a lock notice contains the words that hyprlock looks for`(milliseconds: UInt64) throws {
    let notice = try #require(self.notice(.locked(milliseconds: milliseconds, failures: 1)))
    #expect(text(notice).contains("left to unlock"))
  }

  @Test(
    arguments: [
      (0, "1 second"), (1, "1 second"), (999, "1 second"), (1_000, "1 second"), (1_001, "2 seconds"),
      (59_000, "59 seconds"), (59_001, "1 minute"), (60_000, "1 minute"), (60_001, "2 minutes"),
      (179_001, "3 minutes"), (180_000, "3 minutes"), (3_600_000, "60 minutes"), (5_400_000, "90 minutes"),
      (5_400_001, "2 hours"), (7_200_000, "2 hours"), (7_200_001, "3 hours"), (172_800_000, "48 hours"),
      (172_800_001, "3 days"), (2_592_000_000, "30 days"), (UInt64.max, "213503982335 days"),
    ] as [(UInt64, String)])
  func `a remaining time is rounded up`(milliseconds: UInt64, words: String) {
    let notice = self.notice(.locked(milliseconds: milliseconds, failures: 1))
    #expect(notice.map { text($0) } == "Passcode locked (\(words) left to unlock).")
  }

  /// With everything that a reason can have.
  private static let faults = Fault.Reason.allCases.flatMap { reason in
    [1, 7].map {
      Fault(
        reason, path: Bytes(text: "/a b"), name: Bytes(text: "bob\n\""), number: $0, error: 13)
    }
  }

  @Test(arguments: faults)
  func `each fault is one printable line with its parameters filled in`(fault: Fault) {
    let words = sentence(fault)
    #expect(!words.isEmpty && !words.contains("%") && words.utf8.allSatisfy { (0x20...0x7e).contains($0) })
  }

  @Test func `no two reasons say the same`() {
    let all = Fault.Reason.allCases.map { sentence(Fault($0, path: Bytes(text: "/p"), number: 2)) }
    #expect(Set(all).count == all.count)
  }

  @Test(
    arguments: [
      (Fault(.failed, path: Bytes(text: "/p"), error: 13), "/p: Permission denied"),
      (
        Fault(.unknownOption, path: Bytes(text: "/p"), name: Bytes(text: "x"), number: 3),
        "/p:3: unknown option \"x\""
      ),
      (Fault(.badValue, name: Bytes(text: "weak=x")), "module line: \"weak=x\" needs refuse, warn or allow"),
      (
        Fault(.keyOpensNone, path: Bytes(text: "/k"), number: 1),
        "/k: 1 enrolled passcode needs another key: restore that key from a backup or by its recovery copy "
          + "(passcode key recover), or enrol the user again"
      ),
      (
        Fault(.damagedRecord, path: Bytes(text: "/s/7"), name: Bytes(text: "bob")),
        "/s/7: the record is damaged: restore it from a backup, or run as root: passcode enroll bob"
      ),
    ] as [(Fault, String)])
  func `a fault says what, where, and what to do`(fault: Fault, words: String) {
    #expect(sentence(fault) == words)
  }

  @Test func `the module has the words for all that a helper can tell a login, and they are the same`() {
    let notLogin: Set<Fault.Reason> = [
      .badCode, .noPasswordService, .noWeakList, .nameTooLong, .vanishedRecord, .expiredMeanwhile,
      .noMemoryToHash,
    ]
    let onlyTool: Set<Fault.Reason> = [
      .numberLookup, .keyExists, .keyNeeded, .keyOpensNone, .keyNotReadable, .keyCommand, .noEtcd,
      .fleetRestored, .fleetEpoch, .revokedAndHeld, .endedHolder,
    ]
    for reason in Fault.Reason.allCases {
      let fault = Fault(reason, path: Bytes(text: "/p"), name: Bytes(text: "n"), number: 2)
      let words = text(Words.fault(fault, error: []))
      #expect(text(Words.helperFault(fault, error: [])) == (onlyTool.contains(reason) ? "" : words))
      let isLogins = !onlyTool.contains(reason) && !notLogin.contains(reason)
      #expect(text(Words.loginFault(fault, error: [])) == (isLogins ? words : ""))
    }
  }
}
