public import PasscodePolicy
public import PasscodeSystem

/// MUST 1 of the attempt protocol: attempts are made only for one's own account or by real root. So nobody's
/// process can spend another's attempts, or hold them up by being stopped.
///
/// An attempt can't be made without one, and `check` is the only place that makes one.
/// Tests: test_module.py, `test_only_for_ones_own_account_or_by_real_root`; PermitTests.
public struct Permit: Sendable {
  public let account: Account

  private init(_ account: Account) {
    self.account = account
  }

  /// - Parameters:
  ///   - account: whose passcode it is.
  ///   - process: who runs this program; the real uid counts.
  ///   - requester: PAM_RUSER, the name of who asks; empty or nil where the program didn't say.
  /// - Returns: nil if it may not be attempted.
  public static func check(_ account: Account, _ process: ProcessIdentity, requester: Bytes?) -> Permit? {
    guard process.real == 0 || process.real == account.uid else { return nil }
    guard let requester, !requester.isEmpty else { return Permit(account) }
    guard case .found(let person) = Account.named(requester) else { return nil }
    return person.uid == 0 || person.uid == account.uid ? Permit(account) : nil
  }
}
