public import PasscodePolicy

/// A command of `passcode server` that is a script: ssh, openssl, etcdctl and systemd carry it out. The script takes the
/// rest of the command line.
public enum ServerScript: CaseIterable, Sendable {
  /// Makes a fleet of three or five fresh servers.
  case create
  /// Lets a workstation join the fleet.
  case inviteWorkstation

  /// The word after `passcode server`.
  public var name: Text {
    switch self {
    case .create: "create"
    case .inviteWorkstation: "invite-workstation"
    }
  }

  /// The file name of the script, in the folder of passcode-fleet.
  public var file: StaticString {
    switch self {
    case .create: "passcode-verifier-create"
    case .inviteWorkstation: "passcode-verifier-invite-workstation"
    }
  }
}
