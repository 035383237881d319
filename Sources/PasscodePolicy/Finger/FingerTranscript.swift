/// The events of one prompt, read in the only order that `passcode-finger` sends:
///
///     [starting] then ended, or
///     [starting] watching, noMatch up to three times, then matched or ended or nothing yet
///
/// Anything else is no transcript, and no match: an unknown byte, a part of an event, an event out of turn.
/// Tests: FingerTranscriptTests, FuzzFinger.
public struct FingerTranscript: Equatable, Sendable {
  public enum State: Equatable, Sendable {
    /// No event has come yet.
    case silent
    case starting
    case watching
    case matched(serial: UInt32, milliseconds: UInt64)
    case ended(FingerEnd)
  }

  /// Touches that a prompt may have that don't match.
  public static let mostMisses = 3
  /// Events that a prompt may have.
  public static let mostEvents = 6

  public private(set) var state = State.silent
  /// Touches that didn't match: 0 to `mostMisses`.
  public private(set) var misses = 0

  public init() {}

  /// Everything that has arrived; nil unless it is well-formed and complete.
  public init?(_ bytes: Bytes) {
    guard bytes.count % FingerEvent.length == 0 else { return nil }
    for start in stride(from: 0, to: bytes.count, by: FingerEvent.length) {
      guard let event = FingerEvent(bytes, at: start), take(event) else { return nil }
    }
  }

  /// A transcript that ended before any event, and that no event changes.
  public init(ended: FingerEnd) {
    state = .ended(ended)
  }

  /// The program closed the connection: what it hasn't told by now it never will.
  public mutating func lose() {
    switch state {
    case .silent: state = .ended(.failed)
    case .starting, .watching: state = .ended(.gone)
    case .matched, .ended: break
    }
  }

  /// - Returns: false where the event is out of turn.
  public mutating func take(_ event: FingerEvent) -> Bool {
    switch (state, event) {
    case (.silent, .starting): state = .starting
    case (.silent, .watching), (.starting, .watching): state = .watching
    case (.watching, .noMatch) where misses < FingerTranscript.mostMisses: misses += 1
    case (.watching, .matched(let serial, let time)) where misses < FingerTranscript.mostMisses:
      state = .matched(serial: serial, milliseconds: time)
    case (.silent, .ended(let end)), (.starting, .ended(let end)), (.watching, .ended(let end)):
      state = .ended(end)
    case (_, _): return false
    }
    return true
  }

  /// How long a prompt may have the reader at a time, in milliseconds.
  public static let longest: UInt64 = 30_000

  /// Discards a match from before the prompt, or from after its time: CLOCK_BOOTTIME in milliseconds, which counts suspend.
  ///
  /// - Parameter isForPerson: a program that a person runs. A login screen has the reader for as long as it stands.
  public mutating func limit(toPromptFrom begin: UInt64, isForPerson: Bool) {
    guard case .matched(_, let time) = state else { return }
    if time < begin || isForPerson && time - begin > FingerTranscript.longest { state = .ended(.time) }
  }

  /// How long a match is worth something, in milliseconds. A notice in `Words` says how many seconds that is.
  public static let matchIsFresh: UInt64 = 10_000

  /// The match, as the serial that the touch count must still have; nil: none, too old, or from the future.
  ///
  /// - Parameter now: CLOCK_BOOTTIME in milliseconds.
  public func freshMatch(now: UInt64) -> UInt32? {
    guard case .matched(let serial, let time) = state, time <= now,
      now - time <= FingerTranscript.matchIsFresh
    else { return nil }
    return serial
  }
}

/// What the reader came to at one prompt, for the log and for the person.
public enum FingerOutcome: UInt8, Sendable {
  // As `FingerEnd`, with its raw values.
  case noService = 1
  case noReader, inUse, denied, notEnrolled, off, slow, gone, tries, time, failed, noSession, noTouch,
    printsChanged

  /// A match let the person in.
  case matched
  /// A match came, and something was typed: it is discarded.
  case unused
  /// A match came more than 10 s before Enter, or another touch was charged since, or it was used.
  case tooLate
  /// One or two touches didn't match.
  case noMatch
  /// The passcode was given out for one login: no finger is taken.
  case oneLogin
  /// fprintd was still being started, or the reader wasn't ready yet.
  case notReady
  /// Passcode or password come first: neither was used for as long as `finger_for` allows, or not in this boot.
  case passcodeFirst

  init(_ end: FingerEnd) {
    self = FingerOutcome(rawValue: end.rawValue) ?? .failed
  }

  /// What the log says: `finger=WORD`.
  public var word: Bytes {
    PasscodeBytes.word(
      Int(rawValue) - 1,
      of: """
        no-service no-reader in-use denied not-enrolled off slow gone tries time failed no-session no-touch \
        prints-changed match unused too-late no-match one-login not-ready passcode-first
        """)
  }
}

extension FingerTranscript {
  /// What came of the reader where no match was used.
  @inline(never)
  public var outcome: FingerOutcome {
    switch state {
    case .silent: .slow
    case .starting: .notReady
    case .watching, .ended(.noTouch): misses > 0 ? .noMatch : .noTouch
    case .matched: .unused
    case .ended(let end): FingerOutcome(end)
    }
  }
}
