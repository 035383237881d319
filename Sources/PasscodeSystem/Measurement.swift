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
  /// In this directory, gives a file another content, at once: others see the old one or the new one. Two who do that
  /// wait for each other. Owner, group and mode stay; a new file has 0644. The corresponding C functions are `flock`
  /// and `renameat`.
  public func replace(_ name: [UInt8], _ change: ([UInt8]) -> [UInt8]) throws(Errno) {
    try retrying { flock(raw, LOCK_EX) }
    defer { flock(raw, LOCK_UN) }
    let new = name + literal(".new")
    // One that is there is left over from a run that was killed.
    remove(new)
    do throws(Errno) {
      try write(new, change, before: name)
      try retrying {
        unsafe withCString(new) { new in unsafe withCString(name) { unsafe renameat(raw, new, raw, $0) } }
      }
    } catch {
      remove(new)
      throw error
    }
    try sync()
  }

  private func write(_ new: [UInt8], _ change: ([UInt8]) -> [UInt8], before name: [UInt8]) throws(Errno) {
    var content: [UInt8] = []
    let file = try open(new, .create(mode: 0o600))
    var mode: UInt32 = 0o644
    do throws(Errno) {
      let old = try open(name, .read)
      let status = try old.status()
      content = try old.read(status.size, at: 0)
      mode = status.mode
      try file.setOwner(status.owner, group: status.group)
    } catch {
      if error != .noEntry { throw error }
    }
    try file.setMode(mode)
    try file.write(change(content), at: 0)
    try file.sync()
  }

  private func remove(_ name: [UInt8]) {
    _ = unsafe withCString(name) { unsafe unlinkat(raw, $0, 0) }
  }
}
