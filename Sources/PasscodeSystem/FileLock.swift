internal import CSystem

/// The exclusive lock on an open file, and the file.
///
/// Given back by LOCK_UN before the close, which alone would leave it with the child of a threaded host's fork.
public struct FileLock: ~Copyable {
  public let file: Descriptor

  @inline(never)
  deinit {
    flock(file.raw, LOCK_UN)
  }

  /// What came of trying to lock.
  public enum Attempt: ~Copyable {
    case locked(FileLock)
    /// Another process holds the lock.
    case busy(Descriptor)
    case failed(Errno)
  }

  /// Tries, without waiting. The corresponding C function is `flock`.
  public static func tryLock(_ file: consuming Descriptor) -> Attempt {
    let raw = file.raw
    do throws(Errno) {
      try retrying { flock(raw, LOCK_EX | LOCK_NB) }
      return .locked(FileLock(file: file))
    } catch {
      return error == .wouldBlock ? .busy(file) : .failed(error)
    }
  }
}

/// An exclusive lock on a byte of an open file, and the file; it goes with this value, or with the process.
public struct ByteLock: ~Copyable {
  public let file: Descriptor
  private let byte: Int

  /// Takes over a byte that `tryLock` locked.
  public init(_ file: consuming Descriptor, at byte: Int) {
    self.file = file
    self.byte = byte
  }

  @inline(never)
  deinit {
    cs_set_lock(file.raw, Int16(F_UNLCK), byte)
  }

  /// Locks a byte without waiting (`fcntl`, F_OFD_SETLK); false if another process has locked it.
  public static func tryLock(_ file: borrowing Descriptor, at byte: Int) throws(Errno) -> Bool {
    let raw = file.raw
    do throws(Errno) { try retrying { cs_set_lock(raw, Int16(F_WRLCK), byte) } } catch {
      if error == .wouldBlock { return false }
      throw error
    }
    return true
  }

  /// Locks the first byte of a range that nobody else has locked; nil: they are all taken.
  public static func lockOne(of bytes: Range<Int>, in file: borrowing Descriptor) throws(Errno) -> Int? {
    for byte in bytes where try tryLock(file, at: byte) { return byte }
    return nil
  }
}
