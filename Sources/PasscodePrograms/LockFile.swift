internal import CSystem
public import PasscodeSystem

extension Descriptor {
  /// Locks a file of this name here that only its owner can open: one that is there already, or a new one. (Anyone who can
  /// list a directory could lock that.) The corresponding C function is `flock`.
  ///
  /// - Throws: `wouldBlock` if another process has locked it.
  public func lock(_ name: [UInt8]) throws(Errno) -> FileLock {
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
}

// What only batches and the servers do with locks.

extension ByteLock {
  /// Unlocks what `tryLock` locked.
  public static func unlock(_ file: borrowing Descriptor, at byte: Int) {
    cs_set_lock(file.raw, Int16(F_UNLCK), byte)
  }

  /// Whether no other open file has this byte locked. The corresponding C function is `fcntl`, F_OFD_GETLK.
  public static func isFree(_ file: borrowing Descriptor, at byte: Int) -> Bool {
    cs_is_unlocked(file.raw, byte) != 0
  }
}

extension Descriptor {
  /// Sets the time of the last access to now, and no other. The corresponding C function is `futimens`.
  @inline(never)
  public func touchAccess() throws(Errno) {
    try retrying { cs_touch_access(raw) }
  }
}
