internal import CSystem
public import PasscodeBytes
public import PasscodeSystem

/// A folder that only this account can enter, and that is gone, with all in it, when this value goes.
public struct TemporaryDirectory: ~Copyable {
  public let path: [UInt8]

  /// Makes a directory below /tmp; nil if that fails. The corresponding C function is `mkdtemp`.
  public init?(prefix: Literal) {
    var name = Bytes(text: "/tmp/") + Bytes(text: prefix) + Bytes(text: ".XXXXXX") + [0]
    // SAFETY: the name ends in NUL, and UInt8 has CChar's layout: on arm64 C's characters have no sign.
    let made = unsafe name.withUnsafeMutableBytes {
      unsafe $0.bindMemory(to: CChar.self).baseAddress.flatMap { unsafe mkdtemp($0) } != nil
    }
    guard made else { return nil }
    path = [UInt8](name.dropLast())
  }

  deinit {
    unsafe withCString(path) { unsafe cs_remove_tree($0) }
  }

  /// Writes a file that only this account can read.
  public func write(_ name: [UInt8], _ content: [UInt8]) throws(Errno) {
    let directory = try Descriptor.open(path, .directory)
    let file = try directory.open(name, .create(mode: 0o600))
    try file.write(content, at: 0)
  }

  /// Makes `name` a symbolic link to `target`. The corresponding C function is `symlink`.
  public func link(_ name: [UInt8], to target: [UInt8]) throws(Errno) {
    let full = path + [UInt8(ascii: "/")] + name
    try retrying {
      unsafe withCString(target) { target in unsafe withCString(full) { unsafe symlink(target, $0) } }
    }
  }
}
