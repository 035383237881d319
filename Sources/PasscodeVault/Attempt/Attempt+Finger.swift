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
  func isUsable(_ transcript: FingerTranscript) -> Bool {
    guard let now = vault.clock.milliseconds(), let serial = transcript.freshMatch(now: now) else {
      return false
    }
    return (try? touches.use(serial: serial)) ?? false
  }

  var touches: TouchCounter { TouchCounter(uid: account.uid, vault.configuration.access) }
}
