public import PasscodePolicy

/// A command of `passcode server` that is a script: ssh, openssl, etcdctl and systemd carry it out. The script takes the
/// rest of the command line.
public enum ServerScript: CaseIterable, Sendable {
  /// Makes a fleet of three or five fresh servers.
  case create
  /// Adds fresh servers to a fleet.
  case add
  /// Puts a fresh server in place of a lost one.
  case replace
  /// Lets a workstation join the fleet.
  case inviteWorkstation

  /// The word after `passcode server`.
  public var name: Text {
    switch self {
    case .create: "create"
    case .add: "add"
    case .replace: "replace"
    case .inviteWorkstation: "invite-workstation"
    }
  }

  /// The file name of the script, in the folder of passcode-fleet.
  public var file: Literal {
    switch self {
    case .create: "passcode-verifier-create"
    case .add: "passcode-verifier-add"
    case .replace: "passcode-verifier-replace"
    case .inviteWorkstation: "passcode-verifier-invite-workstation"
    }
  }
}
