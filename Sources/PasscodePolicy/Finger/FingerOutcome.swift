/// What the reader came to at one prompt, for the log and for the person.
public enum FingerOutcome: Equatable, Sendable {
  /// A match let the person in.
  case matched
  /// A match came, and something was typed: it is discarded.
  case unused
  /// A match came more than 10 s before Enter, or another touch was charged since, or it was used.
  case tooLate
  /// One or two touches didn't match.
  case noMatch
  case noTouch
  /// The passcode was given out for one login: no finger is taken.
  case oneLogin
  /// fprintd was still being started, or the reader wasn't ready yet.
  case notReady
  case ended(FingerEnd)

  /// What the log says: `finger=WORD`.
  public var word: Bytes {
    if case .ended(let end) = self { return end.word }
    return PasscodePolicy.word(number, of: "match unused too-late no-match no-touch one-login not-ready")
  }

  /// The outcome's index among the log's words.
  private var number: Int {
    switch self {
    case .matched: 0
    case .unused: 1
    case .tooLate: 2
    case .noMatch: 3
    case .noTouch: 4
    case .oneLogin: 5
    case .notReady: 6
    case .ended: 7
    }
  }
}

extension FingerTranscript {
  /// What came of the reader where no match was used.
  @inline(never)
  public var outcome: FingerOutcome {
    switch state {
    case .silent: .ended(.slow)
    case .starting: .notReady
    case .watching, .ended(.noTouch): misses > 0 ? .noMatch : .noTouch
    case .matched: .unused
    case .ended(let end): .ended(end)
    }
  }
}
