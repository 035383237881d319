/// Every notice that the module gives, and its prompt with `either`: said to the person at the prompt. Each sentence is
/// one literal with its parameters, and each number has its own plural.
///
/// Programs read notices, too: hyprlock shows one only if it contains "left to unlock". It therefore shows no translated
/// one, as it shows none of pam_faillock's.
public enum Words {
  /// The usual prompt, for a service without `prompt=`.
  ///
  /// - Parameters:
  ///   - either: it takes the password, too.
  ///   - finger: the reader can be used now.
  ///   - attemptsLeft: to be told at the prompt; 0: nothing is.
  public static func prompt(either: Bool, finger: Bool, attemptsLeft: UInt32 = 0) -> Sentence {
    guard attemptsLeft == 0 else {
      return counting(either: either, finger: finger, UInt64(attemptsLeft))
    }
    return switch (either, finger) {
    case (false, false): Sentence(Options.Door.usualPrompt)
    case (true, false): "Passcode or password:"
    case (false, true): "Passcode or fingerprint:"
    case (true, true): "Passcode, password or fingerprint:"
    }
  }

  /// The prompt with `finger=both`, where the reader can be used. It tells no attempts that are left: who lacks the finger
  /// has none.
  public static func promptForBoth(either: Bool) -> Sentence {
    either ? "Passcode and fingerprint, or password:" : "Passcode and fingerprint:"
  }

  @inline(never)
  private static func counting(either: Bool, finger: Bool, _ left: UInt64) -> Sentence {
    switch (either, finger) {
    case (false, false):
      Sentence("Passcode (%d attempt left):", plural: "Passcode (%d attempts left):", left)
    case (true, false):
      Sentence(
        "Passcode (%d attempt left) or password:", plural: "Passcode (%d attempts left) or password:", left)
    case (false, true):
      Sentence(
        "Passcode (%d attempt left) or fingerprint:", plural: "Passcode (%d attempts left) or fingerprint:",
        left)
    case (true, true):
      Sentence(
        "Passcode (%d attempt left), password or fingerprint:",
        plural: "Passcode (%d attempts left), password or fingerprint:", left)
    }
  }

  /// What the prompt says in place of a notice, where those are hidden, before it asks for the password (`password`);
  /// nil: nothing. It fits a terminal's line together with that, in every language.
  ///
  /// - Parameter isForPerson: whether who asks is known (`LoginOrigin`): a login screen asks for anyone who types a name,
  ///   and hides what a notice would tell.
  public static func reason(_ refusal: Verdict, isForPerson: Bool) -> Sentence? {
    guard isForPerson else { return nil }
    switch refusal {
    case .exhausted: return "Passcode locked out."
    case .expired: return "Passcode expired."
    case .mustChange: return "Passcode must be changed (passcode change)."
    case .unavailable(let fault): return fault.reason.isOfKey ? "Passcode unavailable." : nil
    case .notPermitted(.paused): return "Passcode paused."
    case .notPermitted(.passwordDue): return "Use your password this time."
    case .locked, .disabled, .notPermitted(.firstLogin), .notPermitted(.workstation),
      .notPermitted(.fingerNeeded):
      return notice(refusal)
    case .granted, .fingerGranted, .fingerRefused, .wrong, .notEnrolled, .notPermitted: return nil
    }
  }

  /// The end of a prompt after a reason. Programs know a prompt for a password by it.
  public static var password: Sentence { "Password:" }

  /// What a verdict tells the person; nil where there is nothing to say, or where saying something
  /// is the next module's part (not enrolled, not permitted, unavailable).
  ///
  /// - Parameter time: tells people a time (seconds since 1970), such as "03:12".
  public static func notice(
    _ verdict: Verdict, in translation: Translation, time: (UInt64) -> Bytes
  ) -> Text? {
    if case .granted(let earlier) = verdict { return notice(earlier, translation, time) }
    return notice(verdict)?.text(in: translation)
  }

  private static func notice(_ verdict: Verdict) -> Sentence? {
    switch verdict {
    case .wrong(.open(let left), _):
      Sentence(
        "Wrong passcode, %d attempt left.", plural: "Wrong passcode, %d attempts left.", UInt64(left))
    case .wrong(.locked(let milliseconds), _), .locked(let milliseconds, _):
      locked(Remaining(milliseconds: milliseconds))
    case .wrong(.exhausted, _), .exhausted:
      "Passcode locked out after too many attempts. Use your password."
    case .disabled: "Passcode disabled by the administrator."
    case .expired: "Passcode expired. Use your password."
    case .mustChange: "Use your password now, then set your own passcode (passcode change)."
    case .notPermitted(.firstLogin): "Log in with your password first."
    case .notPermitted(.workstation): "Too many wrong passcodes on this workstation. Use your password."
    case .notPermitted(.paused): "Passcode paused. Use your password."
    case .notPermitted(.passwordDue): "Use your password this time. It is required from time to time."
    case .notPermitted(.fingerNeeded): "Passcode needs a matching fingerprint. Use your password."
    case .notPermitted(.notAdministrators):
      "Your passcode can't be used here: ask an administrator to set a new one."
    case .fingerRefused(let outcome): notice(outcome)
    case .granted, .fingerGranted, .notEnrolled, .notPermitted, .unavailable: nil
    }
  }

  /// Why the prompt takes no fingerprint, or why Enter alone didn't let anybody in.
  private static func notice(_ finger: FingerOutcome) -> Sentence? {
    switch finger {
    case .matched: nil
    // The next prompt may be another module's: it takes no touch.
    case .tooLate: "That touch no longer counts. Next time, press Enter within 10 seconds of it."
    case .noMatch, .tries: "Fingerprint not recognised."
    case .noTouch: "No touch. Next time, touch the reader before you press Enter."
    case .time: "No touch within 30 seconds."
    case .off: "Fingerprint off: use your passcode."
    case .noReader: "No fingerprint reader. Use your passcode."
    case .notEnrolled: "No fingerprint is enrolled: run fprintd-enroll."
    case .gone: "The fingerprint reader was disconnected. Use your passcode."
    case .passcodeFirst: "Type your passcode this time. Then your fingerprint works again."
    case .printsChanged: "Your fingerprints may have changed. Type your passcode this time."
    case .notReady, .oneLogin, .unused, .noService, .inUse, .denied, .slow, .failed, .noSession:
      "The fingerprint reader can't be used now. Use your passcode."
    }
  }

  /// Every notice fits a terminal's line. Bytes are counted, of which a column has at least one in UTF-8.
  private static var columns: Int { 80 }

  /// Fewer are somebody's own slips.
  private static var fewestTold: UInt32 { 3 }

  private static func notice(
    _ earlier: FailedAttempts, _ translation: Translation, _ time: (UInt64) -> Bytes
  ) -> Text? {
    guard earlier.count >= fewestTold else { return nil }
    let count = UInt64(earlier.count)
    guard earlier.time > 0 else {
      return Sentence(counted: "%d wrong passcodes since your last login.", count).text(in: translation)
    }
    let (when, service) = (time(earlier.time), earlier.service)
    if !service.isEmpty {
      let whole = Sentence(
        // Translators: %1 is a time such as 2026-11-22 03:12, %2 a program such as sudo.
        counted: "%d wrong passcodes since your last login, the last at %1 (%2).", count, [when, service]
      ).text(in: translation)
      if whole.bytes.count <= columns { return whole }
    }
    // "passcode status" tells the service, too.
    return Sentence(counted: "%d wrong passcodes since your last login, the last at %1.", count, [when])
      .text(in: translation)
  }

  @inline(never)
  private static func locked(_ left: Remaining) -> Sentence {
    switch left.unit {
    case .seconds:
      Sentence(
        "Passcode locked (%d second left to unlock).", plural: "Passcode locked (%d seconds left to unlock).",
        left.count)
    case .minutes:
      Sentence(
        "Passcode locked (%d minute left to unlock).", plural: "Passcode locked (%d minutes left to unlock).",
        left.count)
    case .hours: Sentence(counted: "Passcode locked (%d hours left to unlock).", left.count)
    case .days: Sentence(counted: "Passcode locked (%d days left to unlock).", left.count)
    }
  }
}

/// How long a lock still holds, for people: in its largest sensible unit, rounded up, so that nobody comes back too
/// early.
public struct Remaining: Equatable, Sendable {
  /// Of hours there are at least 2, of days at least 3.
  public enum Unit: Equatable, Sendable {
    case seconds, minutes, hours, days
  }

  public let unit: Unit
  /// How many of the unit are left, at least 1.
  public let count: UInt64

  public init(milliseconds: UInt64) {
    let seconds = max(1, wholeSeconds(milliseconds))
    switch seconds {
    case ..<60: (unit, count) = (.seconds, seconds)
    case ..<5_401: (unit, count) = (.minutes, (seconds + 59) / 60)
    case ..<172_801: (unit, count) = (.hours, (seconds + 3_599) / 3_600)
    default: (unit, count) = (.days, (seconds + 86_399) / 86_400)
    }
  }
}
