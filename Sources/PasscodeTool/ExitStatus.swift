/// How a program ended; scripts decide by it (passcode(1)).
public enum ExitStatus: Int32, Sendable {
  case done = 0
  /// A wrong passcode or password; `check` found an error; a step of `try --demo` failed.
  case wrong = 1
  case usage = 2
  case notEnrolled = 3
  /// Locked, exhausted, disabled, expired or to be changed.
  case locked = 4
  /// Weak, mismatch or wrong length.
  case refused = 5
  case notPermitted = 6
  /// Store, key or configuration unusable.
  case unusable = 7
  case cancelled = 8
  /// A batch reached the end of its list, but some lines failed.
  case someFailed = 9
}
