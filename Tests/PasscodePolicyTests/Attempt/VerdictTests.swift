import Testing

@testable import PasscodePolicy

struct VerdictTests {
  /// Each with its name in the log, which other programs search for.
  private static let verdicts: [(Verdict, event: String)] = [
    (.granted(), "passcode granted"),
    (.fingerGranted, "finger granted"),
    (.fingerRefused(.noMatch), "finger refused"),
    (.wrong(.open(attemptsLeft: 2), failures: 1), "passcode wrong"),
    (.locked(milliseconds: 1, failures: 3), "passcode locked"),
    (.exhausted(failures: 10), "passcode exhausted"),
    (.disabled, "passcode is disabled"),
    (.expired, "passcode expired"),
    (.mustChange, "passcode must be changed"),
    (.notEnrolled, "passcode not enrolled"),
    (.notPermitted(.otherAccount), "passcode not permitted: another person's account"),
    (.notPermitted(.remote), "passcode not permitted: remote login"),
    (.notPermitted(.firstLogin), "passcode not permitted: before this boot's first login"),
    (.notPermitted(.notAdministrators), "passcode not permitted: an administrator must set it anew"),
    (.notPermitted(.workstation), "passcode locked on this workstation"),
    (.notPermitted(.paused), "passcode paused"),
    (.notPermitted(.passwordDue), "passcode not permitted: the password is due"),
    (.notPermitted(.fingerNeeded), "passcode not permitted: without a matching finger"),
    (.unavailable(Fault(.noMemory)), "passcode unavailable"),
  ]

  @Test(arguments: verdicts)
  private func `a verdict has its name in the log, and two of them let somebody in`(
    verdict: Verdict, event: String
  ) {
    #expect(text(verdict.event) == event)
    #expect(verdict.isGranted == ["passcode granted", "finger granted"].contains(event))
    let isEnded = [.notPermitted(.firstLogin), .notPermitted(.paused), .notPermitted(.passwordDue)].contains(
      verdict)
    #expect(verdict.endsByPassword == isEnded)
  }
}
