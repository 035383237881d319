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

/// The options in force, and how this process may use them. Never changed once it is made: shared, not copied.
public final class Configuration: Sendable {
  public let options: Options
  public let access: Access
  /// Whether the options come from the default file, and not from one that was named.
  public let isUsual: Bool
  /// For this module line the passcode is a second factor: one that only an administrator had a hand in.
  public let isSecondFactor: Bool

  /// The folder it was read from, trustworthy with all above it; empty: it wasn't read from a file.
  private let folder: Bytes

  /// Read where no other file is named, and always by the helper.
  @inline(never)
  public static var usualPath: Bytes { Bytes(text: "/etc/security/passcode.conf") }

  public init(
    options: Options, access: Access, isUsual: Bool = false, isSecondFactor: Bool = false, folder: Bytes = []
  ) {
    self.options = options
    self.access = access
    self.isUsual = isUsual
    self.isSecondFactor = isSecondFactor
    self.folder = folder
  }

  /// Reads the file, then the options of a module line, which override it.
  ///
  /// - Parameter line: where it names a file, that must exist; the tool's has no options.
  public static func load(_ line: ModuleLine, _ process: ProcessIdentity) throws(Fault) -> Configuration {
    try load(line, access: Access.of(process, ownConfiguration: line.configuration != nil))
  }

  private static func load(_ line: ModuleLine, access: Access) throws(Fault) -> Configuration {
    let source = line.configuration ?? usualPath
    var parser = OptionParser()
    let file = try read(source, mustExist: line.configuration != nil, access)
    try parser.take(file: file[...], path: source)
    try parser.take(arguments: line.options)
    try makeConsistent(&parser.options.policy, line.isSecondFactor)
    let folder = Bytes(source[..<(source.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
    return Configuration(
      options: parser.options, access: access, isUsual: line.configuration == nil,
      isSecondFactor: line.isSecondFactor, folder: folder)
  }

  /// Sets what the options mean together.
  ///
  /// - Throws: a fault where the module line asks for a second factor and the file doesn't: anyone who knows the
  ///   password could set the passcode, and have both.
  private static func makeConsistent(_ policy: inout Options.Policy, _ isSecondFactor: Bool) throws(Fault) {
    if policy.secondFactor {
      policy.allowsSelfEnroll = false
      // The password is asked for each time.
      policy.passwordEvery = 0
    } else if isSecondFactor {
      throw Fault(.secondFactorOff, path: usualPath)
    }
  }

  /// Opens files for this caller; what was found trustworthy for the configuration isn't checked again.
  package func trust(_ subject: Trust.Subject) -> Trust {
    Trust(access: access, subject: subject, known: folder)
  }

  /// The default file, for the helper: its caller can only ask for more (a second factor).
  public static func loadForService(isSecondFactor: Bool) throws(Fault) -> Configuration {
    try load(ModuleLine(configuration: nil, isSecondFactor: isSecondFactor), access: .service)
  }

  package static func read(_ path: Bytes, mustExist: Bool, _ access: Access) throws(Fault) -> Bytes {
    if let text = try Trust(access: access, subject: .configuration).text(path) { return text }
    if mustExist { throw Fault(.missing, inConfiguration: true, path: path) }
    return []
  }
}
