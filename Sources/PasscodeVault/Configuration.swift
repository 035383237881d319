public import PasscodePolicy
public import PasscodeSystem

/// The options in force, and how this process may use them. Never changed once it is made: shared, not copied.
public final class Configuration: Sendable {
  public let options: Options
  public let access: Access
  /// It came from the usual file, not from one that was named.
  public let isUsual: Bool

  /// The folder it was read from, trustworthy with all above it; empty: it wasn't read from a file.
  private let folder: Bytes

  /// Read where no other file is named, and always by the helper.
  public static var usualPath: Bytes { Bytes(text: "/etc/security/passcode.conf") }

  public init(options: Options, access: Access, isUsual: Bool = false, folder: Bytes = []) {
    self.options = options
    self.access = access
    self.isUsual = isUsual
    self.folder = folder
  }

  /// Reads the file, then the arguments of a module line, which override it.
  ///
  /// - Parameters:
  ///   - path: another file than the usual one; it must then exist.
  ///   - arguments: door options; empty for the tool.
  public static func load(
    path: Bytes?, arguments: [Bytes], _ process: ProcessIdentity
  ) throws(Fault) -> Configuration {
    let access = try Access.of(process, ownConfiguration: path != nil)
    return try load(path: path, arguments: arguments, access: access)
  }

  private static func load(
    path: Bytes?, arguments: [Bytes], access: Access
  ) throws(Fault) -> Configuration {
    var parser = OptionParser()
    let file = try read(path ?? usualPath, mustExist: path != nil, access)
    do throws(OptionError) {
      try parser.take(file: file[...], path: path ?? usualPath)
      try parser.take(arguments: arguments)
    } catch {
      throw error.fault
    }
    let source = path ?? usualPath
    let folder = Bytes(source[..<(source.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
    return Configuration(options: parser.options, access: access, isUsual: path == nil, folder: folder)
  }

  /// Opens files for this caller; what was found trustworthy for the configuration isn't checked again.
  func trust(_ subject: Trust.Subject) -> Trust {
    Trust(access: access, subject: subject, known: folder)
  }

  /// The usual file, for the helper: nothing that its caller says counts.
  public static func loadForService() throws(Fault) -> Configuration {
    try load(path: nil, arguments: [], access: .service)
  }

  private static func read(_ path: Bytes, mustExist: Bool, _ access: Access) throws(Fault) -> Bytes {
    switch try Trust(access: access, subject: .configuration).open(path) {
    case .missing:
      if mustExist { throw Fault(.configuration, at: path, "no such file") }
      return []
    case .found(let file, let status):
      do throws(Errno) {
        return try file.read(min(max(0, status.size), OptionParser.largestFile + 1), at: 0)
      } catch {
        throw Fault(.configuration, at: path, Text(error.text))
      }
    }
  }
}
