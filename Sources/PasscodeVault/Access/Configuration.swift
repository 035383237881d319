public import PasscodePolicy
public import PasscodeSystem

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
    let line = ModuleLine(configuration: nil, isSecondFactor: isSecondFactor)
    return try load(line, access: .service)
  }

  static func read(_ path: Bytes, mustExist: Bool, _ access: Access) throws(Fault) -> Bytes {
    if let text = try Trust(access: access, subject: .configuration).text(path) { return text }
    if mustExist { throw Fault(.missing, inConfiguration: true, path: path) }
    return []
  }
}
