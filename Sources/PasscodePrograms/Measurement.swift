internal import CSodium
internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

/// How long a hash takes, in microseconds; nil: there isn't enough memory for it. It hashes a constant, not a passcode.
/// The corresponding C functions are `crypto_pwhash` and `clock_gettime`.
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
  /// Replaces the content of a file in this directory at once: other processes see the old content or the new one. Owner,
  /// group and mode stay; a new file gets 0644. The corresponding C functions are `flock` and `renameat`.
  ///
  /// What is locked meanwhile is the file NAME.new, which nobody else can open: anyone could lock the directory.
  ///                                                                               test_calibrate.py
  /// - Throws: `wouldBlock` if another process is replacing it.
  public func replace(_ name: [UInt8], _ change: ([UInt8]) -> [UInt8]) throws(Errno) {
    let new = name + Bytes(text: ".new")
    let lock = try lock(new)
    do throws(Errno) {
      try write(lock.file, change, before: name)
      try rename(new, to: name)
    } catch {
      try? remove(new)
      throw error
    }
    try sync()
  }

  private func write(
    _ file: borrowing Descriptor, _ change: ([UInt8]) -> [UInt8], before name: [UInt8]
  ) throws(Errno) {
    try file.setMode(0o600)
    try file.setSize(0)
    var content: [UInt8] = []
    var old: FileStatus?
    do throws(Errno) {
      let before = try open(name, .read)
      let status = try before.status()
      content = try before.read(status.size, at: 0)
      old = status
    } catch {
      if error != .noEntry { throw error }
    }
    try file.write(change(content), at: 0)
    // Last: from here on others can lock it.
    if let old { try file.setOwner(old.owner, group: old.group) }
    try file.setMode(old?.mode ?? 0o644)
    try file.sync()
  }
}
