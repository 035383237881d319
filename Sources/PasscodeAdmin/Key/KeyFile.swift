internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A file with a key, for those who may change it. It appears whole, under its name, or not at all, and is on the device
/// before anything that depends on it.                                      test_key_rotation.py, test_key.py
struct KeyFile {
  let path: Bytes
  private let access: Access
  private let folder: Bytes
  private let name: Bytes

  init(_ path: Bytes, _ access: Access) {
    self.path = path
    self.access = access
    let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    folder = slash == 0 ? Bytes(text: "/") : Bytes(path[..<slash])
    name = Bytes(path[(slash + 1)...])
  }

  var exists: Bool { (try? FileStatus.of(path)) != nil }

  /// Makes it, for the service account to read; and its folder, if there is none.
  ///
  /// - Throws: a fault if there is one already.
  @inline(never)
  func create(_ key: borrowing SecretKey) throws(Fault) {
    do throws(Errno) {
      if access == .root, try isMissing(folder) { try makeDirectory(folder, mode: 0o755) }
      try make(key, try Descriptor.open(folder, .directory))
    } catch {
      throw Fault(error == .exists ? .keyExists : .failed, path: path, error: error.code)
    }
  }

  /// The same in the folder for loaded keys, whose owner and mode are set, too.
  @inline(never)
  func makeLoaded(_ key: borrowing SecretKey) throws(Errno) {
    let directory = try Descriptor.open(folder, .directory)
    if let group = serviceAccount()?.gid { try directory.setOwner(0, group: group) }
    try directory.setMode(0o750)
    try make(key, directory)
  }

  private func make(_ key: borrowing SecretKey, _ directory: borrowing Descriptor) throws(Errno) {
    let file = try nameless(directory)
    try key.write(file)
    try file.sync()
    try directory.link(file, as: name)
    try directory.sync()
  }

  /// Writes a sealed key, in place of the one that is there; only root reads it.
  @inline(never)
  func replace(sealed: Bytes) throws(Fault) {
    let new = name + Bytes(text: ".part")
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      try directory.remove(new)
      let file = try directory.open(new, .create(mode: 0o400))
      try file.write(sealed, at: 0)
      try file.sync()
      try directory.rename(new, to: name)
      try directory.sync()
    } catch {
      throw fault(error)
    }
  }

  /// Gives it the name of another one in the same folder, whose file is then gone.
  @inline(never)
  func move(to other: KeyFile) throws(Fault) {
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      try directory.rename(name, to: other.name)
      try directory.sync()
    } catch {
      throw fault(error)
    }
  }

  /// The file that keeps what was here.
  var old: KeyFile { KeyFile(path + Bytes(text: ".old"), access) }

  /// Keeps this file under the name `old`, too; does nothing where there is none.
  @inline(never)
  func keepAsOld() throws(Fault) {
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      let file = try directory.open(name, .read)
      try directory.remove(old.name)
      try directory.link(file, as: old.name)
      try directory.sync()
    } catch {
      if error != .noEntry { throw fault(error) }
    }
  }

  /// Removes the file; does nothing where there is none.
  @inline(never)
  func remove() throws(Fault) {
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      try directory.remove(name)
      try directory.sync()
    } catch {
      if error != .noEntry { throw fault(error) }
    }
  }

  /// The lock that one process at a time has: on a file beside the key that only its owner can open.
  ///
  /// - Parameter sealed: is locked instead where nothing can be written: then a key can still be loaded.
  @inline(never)
  func lock(or sealed: KeyFile) throws(Fault) -> FileLock {
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      do throws(Errno) { return try directory.lock(name + Bytes(text: ".lock")) } catch {
        if error != .readOnly { throw error }
      }
      switch FileLock.tryLock(try directory.open(sealed.name, .read)) {
      case .locked(let lock): return lock
      case .busy: throw .wouldBlock
      case .failed(let error): throw error
      }
    } catch {
      if error == .wouldBlock { throw Fault(.keysBusy) }
      throw Fault(.failed, path: folder, error: error.code)
    }
  }

  private func nameless(_ directory: borrowing Descriptor) throws(Errno) -> Descriptor {
    let group = access == .root ? serviceAccount()?.gid : nil
    let file = try directory.createNameless(mode: 0o400)
    if let group { try file.setOwner(0, group: group) }
    try file.setMode(group == nil ? 0o400 : 0o440)
    return file
  }

  private func isMissing(_ folder: Bytes) throws(Errno) -> Bool {
    do throws(Errno) {
      _ = try FileStatus.of(folder)
      return false
    } catch {
      if error == .noEntry { return true }
      throw error
    }
  }

  private func fault(_ error: Errno) -> Fault { Fault(.failed, path: path, error: error.code) }
}
