public import PasscodePolicy
public import PasscodeSystem

/// What a passcode is typed for. Decides what counts as the one login of a passcode with `--must-change`.
public enum Purpose: Equatable, Sendable {
  /// To open something, or as proof for anything but a change. Spends the one login.
  case login
  /// To set another one in its place. It opens nothing and spends nothing, and also works when the passcode must be
  /// changed.
  case change
}

/// One login, by a way to a store: a look before the prompt, and an attempt after it. This process may reach the store
/// itself (`DirectLogin`) or have the helper do that (`HelperLogin`).
public protocol Login: ~Copyable {
  /// What can be said without a passcode: the refusal there is now, or nil if asking for one makes sense.
  ///
  /// - Parameter unsealed: where a login that opens the store itself has key and credential, until this returns.
  mutating func look(_ unsealed: inout Unsealed) -> Verdict?

  /// One attempt.
  ///
  /// - Parameters:
  ///   - passcode: an `Answer.passcode`.
  ///   - unsealed: as for `look`.
  mutating func attempt(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Verdict
}

extension Login where Self: ~Copyable {
  /// The one way from a prompt to a verdict, for every program.
  ///
  /// - Parameter ask: takes a passcode; an error of its own ends the login without an attempt.
  public mutating func run<Stop: Error>(
    _ passcode: inout Passcode, _ unsealed: inout Unsealed, asking ask: (inout Passcode) throws(Stop) -> Void
  ) throws(Stop) -> Verdict {
    if let refusal = look(&unsealed) { return refusal }
    // What an earlier question took isn't an answer to this one.
    passcode.wipe()
    try ask(&passcode)
    return attempt(passcode, &unsealed)
  }
}
