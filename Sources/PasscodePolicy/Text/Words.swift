/// Every notice that the module gives, and its prompt with `either`: said to the person at the prompt. Each sentence is
/// one literal with its parameters, and each number has its own plural.
///
/// - Words+Fault.swift: faults, for the log and for the tool.
/// - Words+Weakness.swift: why a new passcode is refused.
///
/// Programs read notices, too: hyprlock shows one only if it contains "left to unlock".
public enum Words {
  /// The prompt of a service that has none of its own.
  ///
  /// - Parameter finger: the reader can be used now.
  public static func prompt(_ door: Options.Door, finger: Bool) -> Text {
    switch (door.either, finger) {
    case (false, false): Text(Bytes(text: Options.Door.usualPrompt))
    case (true, false): "Passcode or password:"
    case (false, true): "Passcode or finger:"
    case (true, true): "Passcode, password or finger:"
    }
  }

  /// What a verdict tells the person; nil where there is nothing to say, or where saying something
  /// is the next module's part (not enrolled, not permitted, unavailable).
  ///
  /// - Parameter time: tells people a time (seconds since 1970), such as "03:12".
  public static func notice(_ verdict: Verdict, time: (UInt64) -> Bytes) -> Text? {
    switch verdict {
    case .granted(let earlier): notice(earlier, time)
    case .wrong(.open(let left), _):
      fill(
        left == 1 ? "Wrong passcode, 1 attempt left." : "Wrong passcode, %d attempts left.", UInt64(left))
    case .wrong(.locked(let milliseconds), _), .locked(let milliseconds, _):
      locked(Remaining(milliseconds: milliseconds))
    case .wrong(.exhausted, _), .exhausted:
      "Passcode locked out after too many attempts. Use your password."
    case .disabled: "Passcode disabled by the administrator."
    case .expired: "Passcode expired. Use your password."
    case .mustChange: "Choose your own passcode (passcode change); until then use your password."
    case .notPermitted(.firstLogin): "Log in with your password first."
    case .notPermitted(.notAdministrators):
      "Your passcode can't be used here: ask an administrator to set a new one."
    case .fingerRefused(let outcome): notice(outcome)
    case .fingerGranted, .notEnrolled, .notPermitted, .unavailable: nil
    }
  }

  /// Why Enter alone didn't let anybody in.
  private static func notice(_ finger: FingerOutcome) -> Text? {
    switch finger {
    case .matched: nil
    case .tooLate: "That touch no longer counts. Touch the reader again at the next prompt."
    case .noMatch, .ended(.tries): "Finger not recognised."
    case .noTouch: "No touch yet: touch the fingerprint reader first, then press Enter."
    case .ended(.time): "No touch within 30 seconds."
    case .ended(.off): "Finger off after 5 touches. Use your passcode."
    case .ended(.notEnrolled): "No finger is enrolled: see fprintd-enroll."
    case .ended(.gone): "The fingerprint reader has gone. Use your passcode."
    case .notReady, .oneLogin, .unused, .ended(.noService), .ended(.noReader), .ended(.inUse),
      .ended(.denied),
      .ended(.slow), .ended(.failed), .ended(.noSession):
      "The fingerprint reader can't be used now. Use your passcode."
    }
  }

  /// Every notice fits a terminal's line.
  private static var columns: Int { 80 }

  /// Fewer are somebody's own slips.
  private static var fewestTold: UInt32 { 3 }

  private static func notice(_ earlier: FailedAttempts, _ time: (UInt64) -> Bytes) -> Text? {
    guard earlier.count >= fewestTold else { return nil }
    let count = UInt64(earlier.count)
    guard earlier.time > 0 else { return fill("%d wrong passcodes since your last login.", count) }
    let when = time(earlier.time)
    let whole = fill(
      "%d wrong passcodes since your last login, the last at %1, by %2.", count, when, earlier.service)
    // "passcode status" tells the service, too.
    return earlier.service.isEmpty || whole.bytes.count > columns
      ? fill("%d wrong passcodes since your last login, the last at %1.", count, when) : whole
  }

  private static func locked(_ left: Remaining) -> Text {
    let pattern =
      switch left.unit {
      case .seconds where left.count == 1: "Passcode locked (1 second left to unlock)."
      case .seconds: "Passcode locked (%d seconds left to unlock)."
      case .minutes where left.count == 1: "Passcode locked (1 minute left to unlock)."
      case .minutes: "Passcode locked (%d minutes left to unlock)."
      case .hours: "Passcode locked (%d hours left to unlock)."
      case .days: "Passcode locked (%d days left to unlock)."
      }
    return fill(pattern, left.count)
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
  /// At least 1.
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
