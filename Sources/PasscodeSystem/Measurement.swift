internal import CSodium
internal import CSystem

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
    let new = name + literal(".new")
    let lock = try lock(new)
    do throws(Errno) {
      try write(lock.file, change, before: name)
      try retrying {
        unsafe withCString(new) { new in unsafe withCString(name) { unsafe renameat(raw, new, raw, $0) } }
      }
    } catch {
      remove(new)
      throw error
    }
    try sync()
  }

  /// Creates a file that only its owner can open, or takes one that is left over from a run that was killed.
  private func lock(_ name: [UInt8]) throws(Errno) -> FileLock {
    // Each time that it fails, another run has just ended.
    for _ in 0..<16 {
      switch FileLock.tryLock(try openOrCreate(name)) {
      case .busy: throw .wouldBlock
      case .failed(let error): throw error
      case .locked(let lock):
        if try has(lock.file, as: name) { return lock }
      }
    }
    throw .wouldBlock
  }

  private func openOrCreate(_ name: [UInt8]) throws(Errno) -> Descriptor {
    do throws(Errno) { return try open(name, .create(mode: 0o600)) } catch {
      if error != .exists { throw error }
    }
    do throws(Errno) { return try open(name, .readWrite) } catch {
      if error != .noEntry { throw error }
    }
    return try open(name, .create(mode: 0o600))
  }

  /// Whether the open file is a plain one, and has this name: another run may have renamed it.
  private func has(_ file: borrowing Descriptor, as name: [UInt8]) throws(Errno) -> Bool {
    let status = try file.status()
    guard status.kind == .file, status.links <= 1 else { throw .denied }
    do throws(Errno) { return try open(name, .read).status().inode == status.inode } catch {
      if error != .noEntry { throw error }
    }
    return false
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

  private func remove(_ name: [UInt8]) {
    _ = unsafe withCString(name) { unsafe unlinkat(raw, $0, 0) }
  }
}
