public import PasscodePolicy
internal import PasscodeSystem

// `finger=both`: passcode and finger at one prompt, in either order.
//
// MUST (both):
//  1  Without a touch that matches no passcode is hashed, charged or compared. Before that is known, nothing that is typed
//     decides anything: answer, time, log and prompt are the same for every passcode.     test_finger_both.py
//  2  The touch must have matched by Enter, and passes all that it passes with `finger=yes`: session, age, count. It is used
//     up under the record's lock before the passcode is charged, whatever comes of that.  test_finger_both.py
//  3  With it a passcode is an attempt like any other.                                    test_finger_both.py
//  4  A touch alone opens nothing.                                                        test_finger_both.py
//  5  Where no finger can be asked for, the passcode opens nothing, and proves nothing: the password stands in for both:
//     through the helper and by the tool, over the network, without a reader, after 5 touches that didn't match. Once
//     `finger_for` is over, the password is due.                                          test_finger_both.py
//  6  It is set in the configuration file only; no module line sets it or takes it back. It is refused with
//     `second_factor` and `verifier`.                                                     OptionTests, test_finger_both.py

extension DirectLogin {
  /// The attempt that passcode and finger make together.
  mutating func attempt(
    _ passcode: borrowing Passcode, with transcript: FingerTranscript, _ unsealed: inout Unsealed
  ) -> Verdict {
    // A proof of the password ends that, and nothing else can.
    if case .ended(.printsChanged) = transcript.state { return .notPermitted(.passwordDue) }
    guard case .matched = transcript.state, passcode.count > 0 else { return .notPermitted(.fingerNeeded) }
    touch = transcript
    return attempt(passcode, &unsealed)
  }

  /// Whether the touch that this attempt needs, if it needs one, counts: once.
  ///
  /// - Precondition: the record's lock is held.
  func useTouch() -> Bool {
    guard vault.policy.needsFinger else { return true }
    guard let touch else { return false }
    return isUsable(touch)
  }
}

extension Verdict {
  /// With `finger=both`: the reader's outcome for the log, where a touch had matched when the passcode was typed.
  public var touch: FingerOutcome {
    if case .wrong = self { return .matched }
    if case .notPermitted(.fingerNeeded) = self { return .tooLate }
    return isGranted ? .matched : .unused
  }
}
