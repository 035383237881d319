internal import CSystem

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
