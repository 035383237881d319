public import PasscodePolicy
public import PasscodeSystem

/// One login, by a way to a store: a look before the prompt, and an attempt after it. This process may reach the store
/// itself (`DirectLogin`) or have the helper do that (`HelperLogin`).
public protocol Login: ~Copyable {
  /// What can be said without a passcode: the refusal there is now, or nil if asking for one makes sense.
  mutating func look(_ secrets: inout Secrets) -> Verdict?

  /// One attempt with the passcode in the secrets' field `code`.
  ///
  /// - Precondition: the field holds an `Answer.passcode`.
  mutating func attempt(_ secrets: inout Secrets) -> Verdict
}

extension Login where Self: ~Copyable {
  /// The one way from a prompt to a verdict, for every program.
  ///
  /// - Parameter ask: puts a passcode into the secrets' field `code`; an error of its own ends the login without an
  ///   attempt.
  public mutating func run<Stop: Error>(
    _ secrets: inout Secrets, asking ask: (inout Secrets) throws(Stop) -> Void
  ) throws(Stop) -> Verdict {
    if let refusal = look(&secrets) { return refusal }
    try ask(&secrets)
    return attempt(&secrets)
  }
}
