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

/// What gives somebody the right to set, remove or unlock a passcode.
public enum Authority: Equatable, Sendable {
  /// The store can be reached directly: by root, or by a person who has a store of their own.
  case direct
  /// The account's password was proven.
  case password
  /// The old passcode was proven: `DirectLogin.provenMark`. If the credential is another one by now, nothing is done.
  case passcode(Bytes)

  package var provenMark: Bytes? {
    if case .passcode(let mark) = self { return mark }
    return nil
  }
}

extension Vault {
  /// What the record keeps of it; nil: what it says already.
  package func proof(_ authority: Authority) -> Record.Proof? {
    switch authority {
    case .direct: configuration.access == .root ? .root : .unknown
    case .password: .password
    case .passcode: nil
    }
  }
}

/// The PAM service that proves an account's password, and nothing else: /etc/pam.d/passcode.
public enum PasswordService {
  public static var name: Literal { "passcode" }
  public static var folder: Bytes { Bytes(text: "/etc/pam.d") }
  public static var path: Bytes { Bytes(text: "/etc/pam.d/passcode") }

  /// Whether a password is the account's; what the system's other services accept (a finger, a key, this very passcode) is
  /// no proof here.
  ///
  /// MUST be run while the real uid is still the caller's: pam_unix's own helper answers only for that.
  /// Tests: test_selfservice.py.
  ///
  /// - Parameter password: wiped afterwards.
  /// - Throws: a fault unless its file is there (libpam would take `other`), root's, and writable by nobody else.
  public static func accepts(_ password: inout Password, of account: Account) throws(Fault) -> Bool {
    try check()
    return password.proves(account.name, to: Bytes(text: name), in: folder)
  }

  /// - Throws: as `accepts`.
  public static func check() throws(Fault) {
    if case .missing = try Trust(access: .service, subject: .configuration).open(path) {
      throw Fault(.noPasswordService, path: path)
    }
  }
}
