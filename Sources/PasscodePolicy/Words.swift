/// Every notice that the module gives, and its prompt with `either`: said to the person at the prompt.
///
/// Programs read them, too: hyprlock shows a notice only if it contains "left to unlock".
public enum Words {
  /// The prompt where one field serves for both.
  public static var eitherPrompt: Text { "Passcode or password:" }

  /// What a verdict tells the person; nil where there is nothing to say (granted), or where saying
  /// something is the next module's part (not enrolled, not permitted, unavailable).
  public static func notice(_ verdict: Verdict) -> Text? {
    switch verdict {
    case .wrong(.open(let left), _):
      left == 1 ? "Wrong passcode, 1 attempt left." : "Wrong passcode, \(left) attempts left."
    case .wrong(.locked(let milliseconds), _), .locked(let milliseconds, _): locked(milliseconds)
    case .wrong(.exhausted, _), .exhausted:
      "Passcode blocked after too many attempts: run \"passcode unlock\" with your password."
    case .disabled: "Passcode suspended by the administrator."
    case .notPermitted(.firstLogin): "Log in with your password first."
    case .granted, .notEnrolled, .notPermitted, .unavailable: nil
    }
  }

  private static func locked(_ milliseconds: UInt64) -> Text {
    "Passcode locked (\(remaining(milliseconds)) left to unlock)."
  }

  /// A time in words, rounded up, so that nobody comes back too early: "45 seconds", "3 minutes".
  public static func remaining(_ milliseconds: UInt64) -> Text {
    let seconds = max(1, wholeSeconds(milliseconds))
    switch seconds {
    case ..<60: return count(seconds, "second")
    case ..<5_401: return count((seconds + 59) / 60, "minute")
    case ..<172_801: return count((seconds + 3_599) / 3_600, "hour")
    default: return count((seconds + 86_399) / 86_400, "day")
    }
  }

  private static func count(_ number: UInt64, _ unit: Text) -> Text {
    number == 1 ? "1 \(unit)" : "\(number) \(unit)s"
  }
}
