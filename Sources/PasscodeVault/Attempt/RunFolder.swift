package import PasscodePolicy
package import PasscodeSystem

/// The runtime directory, for what holds within one boot: /run/passcode, made by the first root caller where tmpfiles
/// didn't; the service account's alone. One whose maker was killed before it had that owner gets it from the next root
/// caller.                                                                    test_first_login.py
package enum RunFolder {
  @inline(never)
  package static var path: Bytes { Bytes(text: "/run/passcode") }

  package static func path(of file: Bytes) -> Bytes { joined(path, file) }

  /// Opens a file there for reading and writing: only a plain one with this one name, since another name of some file of
  /// root's is nothing to write into; and only one that nobody else may open, since they could lock it.
  ///
  /// - Throws: `denied` for any other file.
  @inline(never)
  package static func open(_ file: Bytes) throws(Errno) -> Descriptor {
    let opened = try Descriptor.open(path(of: file), .readWrite)
    let status = try opened.status()
    guard status.kind == .file, status.links == 1, status.mode & 0o077 == 0 else { throw .denied }
    return opened
  }

  /// What a file there keeps together with a time: CLOCK_BOOTTIME in milliseconds, 8 bytes, little-endian; then the rest.
  ///
  /// - Parameters:
  ///   - length: of both, in bytes.
  ///   - milliseconds: how old it may be.
  /// - Returns: the whole content; nil if it is older, from the future, or not as it should be.
  @inline(never)
  static func recent(_ file: Bytes, _ length: Int, within milliseconds: UInt64, of now: Instant) -> Bytes? {
    guard let content = try? open(file).read(length + 1, at: 0), content.count == length else { return nil }
    let time = littleEndianNumber(content, 0, 8)
    return time <= now.milliseconds && now.milliseconds - time < milliseconds ? content : nil
  }

  /// Opens a file there, or makes it, for the service account alone.
  @inline(never)
  package static func openOrMake(_ file: Bytes, _ access: Access) throws(Errno) -> Descriptor {
    do throws(Errno) { return try open(file) } catch { guard error == .noEntry else { throw error } }
    let folder = try open(access)
    do throws(Errno) {
      let made = try folder.open(file, .create(mode: 0o600))
      try made.setMode(0o600)
      if access == .root, let owner = serviceAccount() { try made.setOwner(owner.uid, group: 0) }
      return made
    } catch {
      guard error == .exists else { throw error }
    }
    return try open(file)  // another process was faster
  }

  /// Locks a file there. Others hold it for microseconds: after a second it is busy.
  package static func lock(_ file: consuming Descriptor) throws(Errno) -> FileLock {
    var file = file
    for _ in 0..<1_000 {
      switch FileLock.tryLock(file) {
      case .locked(let lock): return lock
      case .failed(let error): throw error
      case .busy(let same): file = same
      }
      SystemClock.sleep(microseconds: 1_000)
    }
    throw .wouldBlock
  }

  @inline(never)
  package static func open(_ access: Access) throws(Errno) -> Descriptor {
    let folder: Descriptor
    do throws(Errno) { folder = try Descriptor.open(path, .directory) } catch {
      guard error == .noEntry, access == .root else { throw error }
      do throws(Errno) { folder = try makeDirectory(path, mode: 0o700) } catch {
        guard error == .exists else { throw error }
        folder = try Descriptor.open(path, .directory)  // another process was faster
      }
    }
    if access == .root, try folder.status().owner == 0, let owner = serviceAccount() {
      try folder.setMode(0o700)
      try folder.setOwner(owner.uid, group: 0)
    }
    return folder
  }

  /// Whether the directory is there, and nobody else's.
  @inline(never)
  static func isSound(_ access: Access) -> Bool {
    guard case .found = try? Trust(access: access, subject: .store).open(path) else { return false }
    return true
  }
}
