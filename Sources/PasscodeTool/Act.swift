public import PasscodePolicy

/// What was done with somebody's passcode, for people and for the log.
public enum Act {
  case enrolled, changed, removed, unlocked, disabled, enabled, paused, resumed, renamed
  /// A one-time code was made.
  case invited

  private var sentence: Sentence {
    switch self {
    case .enrolled: "passcode enrolled"
    case .changed: "passcode changed"
    case .removed: "passcode removed"
    case .unlocked: "passcode unlocked"
    case .disabled: "passcode disabled"
    case .enabled: "passcode enabled"
    case .paused: "passcode paused"
    case .resumed: "passcode resumed"
    case .renamed: "passcode renamed"
    case .invited: "one-time code created"
    }
  }

  /// The log's words for what was done.
  public var event: Text { sentence.english }

  /// The event in words for people.
  public var phrase: Phrase { Phrase(sentence) }

  /// One sentence about an act on an account's passcode, for people.
  public func done(_ name: Bytes) -> Phrase {
    let name = printable(name)
    return switch self {
    case .enrolled: "Passcode set for \(name)."
    case .changed: "Passcode changed for \(name)."
    case .removed: "Passcode removed for \(name)."
    case .unlocked: "Passcode unlocked for \(name)."
    case .disabled: "Passcode disabled for \(name)."
    case .enabled: "Passcode enabled for \(name)."
    case .paused: "Passcode paused for \(name)."
    case .resumed: "Passcode resumed for \(name)."
    case .renamed: "Passcode moved to \(name)."
    case .invited: phrase
    }
  }

  /// One sentence for people where the account was in that state before.
  public func already(_ name: Bytes) -> Phrase {
    let shown = printable(name)
    return switch self {
    case .enrolled, .changed, .removed, .invited: done(name)
    case .unlocked: "\(shown) has no failed attempts to clear."
    case .renamed: "Passcode already moved to \(shown)."
    case .disabled: "Passcode already disabled for \(shown)."
    case .enabled: "Passcode already enabled for \(shown)."
    case .paused: "Passcode already paused for \(shown)."
    case .resumed: "Passcode of \(shown) isn't paused."
    }
  }
}
