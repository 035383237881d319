/// Every notice that the module gives, and its prompt with `either`: said to the person at the prompt.
///
/// Programs read them, too: hyprlock shows a notice only if it contains "left to unlock".
public enum Words {
  /// The prompt where one field serves for both.
  public static var eitherPrompt: Text { "Passcode or password:" }

  /// What a verdict tells the person; nil where there is nothing to say, or where saying something
  /// is the next module's part (not enrolled, not permitted, unavailable).
  ///
  /// - Parameter when: tells a moment (seconds since 1970), such as "at 03:12".
  public static func notice(_ verdict: Verdict, when: (UInt64) -> Bytes) -> Text? {
    switch verdict {
    case .granted(let earlier): notice(earlier, when)
    case .wrong(.open(let left), _):
      left == 1 ? "Wrong passcode, 1 attempt left." : "Wrong passcode, \(left) attempts left."
    case .wrong(.locked(let milliseconds), _), .locked(let milliseconds, _): locked(milliseconds)
    case .wrong(.exhausted, _), .exhausted:
      "Passcode locked out after too many attempts. Use your password."
    case .disabled: "Passcode disabled by the administrator."
    case .notPermitted(.firstLogin): "Log in with your password first."
    case .notPermitted(.notAdministrators):
      "Your passcode can't be used here: an administrator must set it anew."
    case .notEnrolled, .notPermitted, .unavailable: nil
    }
  }

  /// Every notice fits a terminal's line.
  private static var columns: Int { 80 }

  /// Fewer are somebody's own slips.
  private static var fewestTold: UInt32 { 3 }

  private static func notice(_ earlier: FailedAttempts, _ when: (UInt64) -> Bytes) -> Text? {
    guard earlier.count >= fewestTold else { return nil }
    let count = UInt64(earlier.count)
    guard earlier.time > 0 else { return "\(count) wrong passcodes since your last login." }
    let last: Text = "\(count) wrong passcodes since your last login, the last \(when(earlier.time))"
    let whole: Text = "\(last), by \(earlier.service)."
    // "passcode status" tells it, too.
    return earlier.service.isEmpty || whole.bytes.count > columns ? "\(last)." : whole
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
