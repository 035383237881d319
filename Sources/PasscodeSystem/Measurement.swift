internal import CSodium
internal import CSystem

/// How long a hash of no passcode takes: microseconds; nil: there isn't so much memory. The corresponding C functions
/// are `crypto_pwhash` and `clock_gettime`.
///
/// - Parameters:
///   - operations: passes, at least 1.
///   - memory: bytes, at least 8,192.
public func hashingTime(operations: UInt64, memory: UInt64, _ sodium: Sodium) -> UInt64? {
  var digest = [UInt8](repeating: 0, count: Length.hash)
  let salt = [UInt8](repeating: 0, count: Length.salt)
  let code = [CChar](repeating: 0x30, count: 6)
  let start = cs_clock(CLOCK_MONOTONIC)
  let result = unsafe crypto_pwhash(
    &digest, UInt64(digest.count), code, UInt64(code.count), salt, operations, Int(memory),
    crypto_pwhash_ALG_ARGON2ID13)
  return result == 0 ? (cs_clock(CLOCK_MONOTONIC) - start) / 1_000 : nil
}

extension Descriptor {
  /// In this directory, puts a file with this content in the place of another one, at once: others see the old one or
  /// the new one. The corresponding C function is `renameat`.
  ///
  /// - Parameter status: gives owner, group and mode.
  public func replace(_ name: [UInt8], with content: [UInt8], like status: FileStatus) throws(Errno) {
    let new = name + literal(".new")
    _ = unsafe withCString(new) { unsafe unlinkat(raw, $0, 0) }
    let file = try open(new, .create(mode: 0o600))
    try file.setOwner(status.owner, group: status.group)
    try file.setMode(status.mode)
    try file.write(content, at: 0)
    try file.sync()
    try retrying {
      unsafe withCString(new) { new in unsafe withCString(name) { unsafe renameat(raw, new, raw, $0) } }
    }
    try sync()
  }
}
