internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeStacks
internal import PasscodeSystem

/// What is known of an account's fingers, and of the services that offer the reader: told, and nothing is decided by it.
struct FingerReport {
  enum State: Equatable {
    case enrolled(Fingers)
    /// The passcode itself can't be used now, or there is none: no finger is asked for either.
    case waiting(Fingers)
    /// A service has the option, and systemd doesn't listen for its prompts.
    case inactive(Fingers)
    case off
    case notInstalled
    case unusable
    case ended(FingerEnd)
  }

  let state: State
  let offering: [PAMReport.Group]

  /// nil: there is nothing to tell; the reader is of no concern here.
  ///
  /// - Parameter stacks: nil with a store of one's own, or to try.
  init?(_ status: Status, _ stacks: PAMReport?) {
    guard let stacks, !isServiceAccount(status.account.uid) else { return nil }
    offering = stacks.offering
    let state = FingerReport.state(status, FingerProgram.list(status.account.uid))
    if state == .notInstalled && offering.isEmpty { return nil }
    if case .enrolled(let fingers) = state, !offering.isEmpty, FingerProgram.installation == .notListening {
      self.state = .inactive(fingers)
    } else {
      self.state = state
    }
  }

  private static func state(_ status: Status, _ answer: FingerProgram.Answer) -> State {
    switch answer {
    case .notInstalled: .notInstalled
    case .unusable: .unusable
    case .listed where status.isFingerOff: .off
    case .listed(let fingers):
      status.isEnrolled && status.state == .ok ? .enrolled(fingers) : .waiting(fingers)
    case .ended(let end): .ended(end)
    }
  }

  /// The fingers that fprintd has enrolled for the account.
  var fingers: Fingers? {
    switch state {
    case .enrolled(let fingers), .waiting(let fingers), .inactive(let fingers): fingers
    case .off, .notInstalled, .unusable, .ended: nil
    }
  }

  /// The state's word in JSON.
  var word: Bytes {
    switch state {
    case .enrolled: Bytes(text: "ok")
    case .waiting: Bytes(text: "waiting")
    case .inactive: Bytes(text: "inactive")
    case .off: FingerEnd.off.word
    case .notInstalled: Bytes(text: "not-installed")
    case .unusable: FingerEnd.failed.word
    case .ended(let end): end.word
    }
  }
}
