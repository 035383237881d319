internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// MUST (key):
// 16  A key that goes is overwritten where it lay, but only under `….gone`, and as its only name (on a full disk, once it
//     has no name). What a kill or a failing disk leaves there is never read as a key; the next command that changes keys
//     overwrites it, and `status` names it until then. On a file system that keeps old copies, `seal` and `rotate` say so.
//     test_key_overwriting.py

/// A file with a key, plain or sealed, for those who may change it. It appears whole, under its name, or not at all, and
/// is on the device before anything that depends on it.                     test_key_rotation.py, test_key.py
///
/// What goes is overwritten, which helps on ext4:
///
///     key            the key; then renamed (or, where another file takes its name, linked first) to
///     key.gone       which nobody reads as a key, whatever is in it; overwritten, synced, unlinked
///
/// A process that has it open may read anything then (MUST 17, at `MachineKey`).
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
      try take(new, directory)
    } catch {
      throw fault(error)
    }
  }

  /// Gives it the name of another one in the same folder, whose file is then gone.
  @inline(never)
  func move(to other: KeyFile) throws(Fault) {
    do throws(Errno) {
      try other.take(name, try Descriptor.open(folder, .directory))
    } catch {
      throw fault(error)
    }
  }

  /// Takes the file that has another name there, in place of the one that is here.
  private func take(_ other: Bytes, _ directory: borrowing Descriptor) throws(Errno) {
    let old = try? directory.open(name, .readWrite)
    // A full disk may have no room for another name: then what a kill leaves isn't overwritten.
    var isLinked = false
    if let file = try? directory.open(name, .read) { isLinked = (try? directory.link(file, as: gone)) != nil }
    try directory.rename(other, to: name)
    try directory.sync()
    // The key is replaced by now, whatever becomes of the old one's file: `status` names what isn't overwritten.
    if isLinked {
      try? overwriteGone(directory)
    } else if let old, (try? old.status())?.links == 0 {
      try? overwrite(old)
    }
  }

  private func overwrite(_ file: borrowing Descriptor) throws(Errno) {
    try file.write(Bytes(repeating: 0, count: file.status().size), at: 0)
    try file.sync()
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
    guard exists else { return }
    do throws(Errno) {
      let directory = try Descriptor.open(folder, .directory)
      try directory.rename(name, to: gone)
      try directory.sync()
      // As in `take`.
      try? overwriteGone(directory)
    } catch {
      throw fault(error)
    }
  }

  private var gone: Bytes { name + Bytes(text: ".gone") }

  /// Whether a command was interrupted while it replaced or removed this key: the next command puts that right.
  var isLeft: Bool { left != nil }

  /// Whether an interrupted command left an old key on the disk. (With a second name, the file is the key in use.)
  var isOldLeft: Bool { left?.links == 1 }

  private var left: FileStatus? { try? FileStatus.of(path + Bytes(text: ".gone")) }

  /// Overwrites what an interrupted command left; nothing, if there is nothing.
  @inline(never)
  func overwriteLeft() throws(Fault) {
    do throws(Errno) { try overwriteGone(try Descriptor.open(folder, .directory)) } catch {
      if error != .noEntry { throw fault(error) }
    }
  }

  private func overwriteGone(_ directory: borrowing Descriptor) throws(Errno) {
    let status: FileStatus
    do throws(Errno) { status = try directory.open(gone, .read).status() } catch {
      if error == .noEntry { return }
      throw error
    }
    // Under another name it is still needed.
    if status.kind == .file, status.links == 1 {
      try directory.open(gone, .read).setMode(0o600)
      try overwrite(try directory.open(gone, .readWrite))
    }
    try directory.remove(gone)
    try directory.sync()
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
