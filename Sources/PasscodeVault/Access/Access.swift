public import PasscodePolicy
public import PasscodeSystem

/// How this process may reach configuration, key and store.
public enum Access: Equatable, Sendable {
  /// Effective uid 0.
  case root
  /// A person's own process with a configuration file of their own (`conf=`, `--conf`): trying, testing.
  case person(UInt32)
  /// Anybody else: only the helper, which runs as `_passcode`, reaches the store.
  case helper
  /// The helper, once it is `_passcode` in every id.
  case service

  /// - Parameter ownConfiguration: another file than the default one was named.
  public static func of(_ process: ProcessIdentity, ownConfiguration: Bool) throws(Fault) -> Access {
    if process.effective == 0 { return .root }
    guard ownConfiguration else { return .helper }
    guard process.isOnlyOnePersons else {
      throw Fault(.privilegedConfiguration)
    }
    return .person(process.real)
  }

  /// Whether files of this owner are trusted.
  func trusts(owner: UInt32) -> Bool {
    switch self {
    case .root, .helper, .service: owner == 0
    case .person(let uid): owner == 0 || owner == uid
    }
  }
}
