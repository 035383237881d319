internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// How commands change the configuration file.

extension Session {
  /// The path of the configuration file: `--conf`, or the default file.
  var configurationFile: Bytes { configurationPath ?? Configuration.usualPath }

  /// Replaces the content of the configuration file at once; the file is created if there is none.
  func changeConfiguration(_ change: (Bytes) -> Bytes) throws(Failure) {
    let path = configurationFile
    let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    do throws(Errno) {
      try Descriptor.open(Bytes(path[...end]), .directory).replace(Bytes(path[(end + 1)...]), change)
    } catch {
      throw error == .wouldBlock ? .inUse(path) : .configuration(path, error)
    }
  }
}
