public import PasscodePolicy
public import PasscodeSystem

extension DirectLogin {
  /// The finger's rules are in FingerPrompt and at the head of passcode-finger's Main.swift: all that the passcode has to pass
  /// before it is hashed, and then a fresh match that is the last change of the touch count. The ledger stays as it is.
  public mutating func accept(
    _ transcript: FingerTranscript, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed
  ) -> Verdict {
    if vault.policy.needsFinger { return attempt(passcode, with: transcript, &unsealed) }
    defer { unsealed.wipe() }
    guard case .matched = transcript.state else { return .fingerRefused(transcript.outcome) }
    do throws(Fault) {
      switch try lockedRecord() {
      case .refused(let verdict): return verdict
      case .ready(let record, _):
        _ = try openCredential(record.current, &unsealed)
        guard record.current.terms.allowFinger else { return .fingerRefused(.oneLogin) }
        if try isFingerDue { return .fingerRefused(.passcodeFirst) }
        if try record.isRevokedByNow(store) { return .disabled }
        guard isUsable(transcript) else { return .fingerRefused(.tooLate) }
        return .fingerGranted
      }
    } catch {
      return .unavailable(error)
    }
  }

  /// Uses up a finger's match, so that it lets nobody in twice. In doubt there was no match.
  ///
  /// - Precondition: the record's lock is held.
  func isUsable(_ transcript: FingerTranscript) -> Bool {
    guard let now = vault.clock.milliseconds(), let serial = transcript.freshMatch(now: now) else {
      return false
    }
    return (try? touches.use(serial: serial)) ?? false
  }

  var touches: TouchCounter { TouchCounter(uid: account.uid, vault.configuration.access) }
}

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
}

extension Verdict {
  /// With `finger=both`: the reader's outcome for the log, where a touch had matched when the passcode was typed.
  public var touch: FingerOutcome {
    if case .wrong = self { return .matched }
    if case .notPermitted(.fingerNeeded) = self { return .tooLate }
    return isGranted ? .matched : .unused
  }
}
