internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A file in the service account's folder that root uses, too: a name there may be a hard link to any file, or a file
/// that was moved.
enum ServiceFile {
  /// Opens a file, or makes it with mode 0600; another process may be faster.
  static func openOrCreate(_ path: Bytes) throws(Errno) -> Descriptor {
    for access in [Descriptor.Access.readWrite, .create(mode: 0o600)] {
      if let file = try? Descriptor.open(path, access) { return file }
    }
    return try Descriptor.open(path, .readWrite)
  }

  /// Locks the first byte of a file, and waits while another process has it locked.
  ///
  /// - Parameters:
  ///   - milliseconds: the longest wait.
  ///   - pauses: in microseconds, from the first to the longest.
  /// - Returns: false if that was too long.
  static func lock(
    _ file: borrowing Descriptor, within milliseconds: UInt64, pauses: ClosedRange<Int>,
    whileWaiting: () -> Void = {}
  ) throws(Errno) -> Bool {
    let started = SystemClock.bootMilliseconds() ?? 0
    var pause = pauses.lowerBound
    while try !ByteLock.tryLock(file, at: 0) {
      guard let now = SystemClock.bootMilliseconds(),
        SystemClock.elapsed(from: started, to: now) < milliseconds
      else { return false }
      whileWaiting()
      SystemClock.sleep(microseconds: pause)
      pause = min(pause * 2, pauses.upperBound)
    }
    return true
  }

  /// Root gives a file that it has just made to the service account.
  ///
  /// - Throws: EACCES if it isn't a plain file with one name, or is somebody else's.
  static func adopt(_ file: borrowing Descriptor, for access: Access) throws(Errno) {
    let status = try file.status()
    let own = ProcessIdentity.current().effective
    guard status.kind == .file, status.links == 1 else { throw .denied }
    guard access == .root, let service = serviceAccount() else {
      guard status.owner == own else { throw .denied }
      return
    }
    if status.owner == service.uid { return }
    // As it was made: one with content could be a record of root's, moved here.
    guard status.owner == own, status.size == 0 else { throw .denied }
    try file.setOwner(service.uid, group: service.gid)
  }
}
