/// What the helper can be asked, who may ask it, and what proves it. Options take more away: `Policy.takesPassword`.
///
/// MUST (helper):
///  2  It gives only the rights that its table gives: to the account's own user (by the real uid), or to root. Setting,
///     removing, unlocking or resuming a passcode takes a secret, each time: an unlocked session, or a program of the
///     person, has no such secret. Pausing takes none.
///     HelperOperationTests, test_helper_attacks.py, test_selfservice.py, test_pause.py
public enum HelperOperation: UInt8, CaseIterable, Sendable {
  /// Is there anything that refuses a passcode before it is asked for?
  case look = 1
  /// One attempt: the passcode is compared and counted.
  case verify = 2
  case status = 3
  case change = 4
  case remove = 5
  case enroll = 6
  case unlock = 7
  /// One attempt that proves the old passcode before a change, and opens nothing.
  case prove = 8
  /// In a fleet: a passcode in place of a forgotten one, or the first one. The helper has no codes itself.
  case enrollByCode = 9
  /// Pauses the passcode: neither it nor a finger is accepted until the password is proven.
  case pause = 10
  /// Ends the pause.
  case resume = 11

  /// Whether a helper that waits after a look accepts it.
  public var isAttempt: Bool { self == .verify || self == .prove }

  /// Whether it concerns this machine alone, also where a fleet's servers keep the passcode.
  public var isForThisMachine: Bool { self == .pause || self == .resume }

  /// What comes with the request, to be proven right before anything is done.
  public enum Proof: Equatable, Sendable {
    case none, passcode, password
    /// A `OneTimeCode`, in the passcode's place.
    case code
    /// The passcode or the password: one secret, not both.
    case passcodeOrPassword
  }

  /// One row of the table.
  public struct Row: Equatable, Sendable {
    /// Whether root may ask for anybody's account, as everybody may for their own. No program of ours starts it as root.
    public let mayRoot: Bool
    public let proof: Proof
    /// A new passcode comes with the request.
    public let setsPasscode: Bool
    /// Whether a person whose passcode is disabled may ask for the operation.
    public let isForDisabled: Bool
  }

  /// The table's row for this operation.
  public var row: Row {
    switch self {
    case .look: Row(mayRoot: true, proof: .none, setsPasscode: false, isForDisabled: true)
    case .verify: Row(mayRoot: true, proof: .passcode, setsPasscode: false, isForDisabled: true)
    case .status: Row(mayRoot: true, proof: .none, setsPasscode: false, isForDisabled: true)
    case .change: Row(mayRoot: false, proof: .passcode, setsPasscode: true, isForDisabled: false)
    case .remove: Row(mayRoot: false, proof: .passcodeOrPassword, setsPasscode: false, isForDisabled: false)
    case .enroll: Row(mayRoot: false, proof: .password, setsPasscode: true, isForDisabled: false)
    case .unlock: Row(mayRoot: false, proof: .password, setsPasscode: false, isForDisabled: false)
    case .prove: Row(mayRoot: false, proof: .passcode, setsPasscode: false, isForDisabled: false)
    case .enrollByCode: Row(mayRoot: false, proof: .code, setsPasscode: true, isForDisabled: false)
    case .pause: Row(mayRoot: false, proof: .none, setsPasscode: false, isForDisabled: false)
    case .resume: Row(mayRoot: false, proof: .password, setsPasscode: false, isForDisabled: false)
    }
  }

  /// Whether the helper's caller may ask this about an account.
  ///
  /// - Parameter caller: the helper's real uid.
  public func permits(caller: UInt32, account: UInt32) -> Bool {
    caller == account || caller == 0 && row.mayRoot
  }
}

extension HelperOperation.Row {
  /// Whether just the secrets that the row asks for came with the request, each of a length that it can have.
  func accepts(_ lengths: HelperRequest.Lengths) -> Bool {
    let (hasPasscode, hasPassword) = (lengths.passcode != 0, lengths.password != 0)
    let isWhole = proof == .code ? lengths.passcode == OneTimeCode.length : Answer.isLength(lengths.passcode)
    guard setsPasscode ? Answer.isLength(lengths.new) : lengths.new == 0, isWhole || !hasPasscode,
      lengths.password <= HelperRequest.longestPassword
    else { return false }
    switch proof {
    case .none: return !hasPasscode && !hasPassword
    case .passcode, .code: return hasPasscode && !hasPassword
    case .password: return !hasPasscode && hasPassword
    case .passcodeOrPassword: return hasPasscode != hasPassword
    }
  }
}
