internal import CSystem
public import PasscodeBytes
public import PasscodeSystem

// Files that only the tools and the servers look for.

extension Installed {
  /// The file of the program at the fingerprint reader.
  @inline(never)
  public static var finger: [UInt8] {
    // SAFETY: a constant, NUL-terminated string.
    unsafe bytes(cs_finger_path())
  }

  /// The file of the program that is root's tool on a fleet's server.
  public static var verifier: [UInt8] {
    // SAFETY: a constant, NUL-terminated string.
    unsafe bytes(cs_verifier_path())
  }

  /// A script of a fleet's packages, in the folder of the program on a workstation.
  public static func inFleetFolder(_ name: Literal) -> [UInt8] {
    let program = path(of: .fleet)
    return [UInt8](program.prefix(1 + (program.lastIndex(of: UInt8(ascii: "/")) ?? -1))) + Bytes(text: name)
  }

  /// The folder where libpam looks for modules.
  public static var modules: [UInt8] {
    // SAFETY: a constant, NUL-terminated string.
    unsafe bytes(cs_module_directory())
  }
}

/// The file that this program was started from. The corresponding file is /proc/self/exe.
public func programPath() -> [UInt8]? {
  var path = [UInt8](repeating: 0, count: 4_096)
  // SAFETY: readlink stays within the path's bytes.
  let length = unsafe cs_program_path(&path, path.count)
  return length < 0 ? nil : shortened(path, to: length)
}
