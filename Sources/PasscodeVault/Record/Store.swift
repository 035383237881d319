package import PasscodePolicy
package import PasscodeSystem

/// The directory of the records: `<store>/<uid>`.
///
/// A record file MUST never be replaced, and never unlinked while its account may be in use: it carries the
/// lock. It appears whole, under its name, or not at all. test_corruption.py, test_power_loss.py
///
/// Root's own record MUST be root's, and not the service account's: an intruder in that account could make one.
/// test_identity.py
///
/// Directory and records MUST be their owner's alone (0700, 0600): root reaches them by CAP_DAC_OVERRIDE, and a
/// group could set the count of failures back. test_tool.py, test_access.py
package final class Store {
  package let directory: Descriptor
  package let status: FileStatus
  private let access: Access
  package let path: Bytes

  private init(_ directory: consuming Descriptor, _ status: FileStatus, _ access: Access, _ path: Bytes) {
    self.directory = directory
    self.status = status
    self.access = access
    self.path = path
  }

  /// - Throws: a fault if the store is missing or not to be trusted.
  package static func open(_ configuration: Configuration) throws(Fault) -> Store {
    let path = configuration.options.policy.store
    switch try configuration.trust(.store).open(path) {
    case .found(let directory, let status):
      return Store(directory, status, configuration.access, path)
    case .missing:
      throw Fault(.noStore, path: path)
    }
  }

  /// The file of a uid, opened and not yet locked; nil if there is none.
  package func open(_ uid: UInt32, _ access: Descriptor.Access = .readWrite) throws(Fault) -> Descriptor? {
    do throws(Errno) { return try find(decimalDigits(UInt64(uid)), access) } catch {
      throw fault(uid, reason(error), error: error.code)
    }
  }

  private func find(_ name: Bytes, _ access: Descriptor.Access) throws(Errno) -> Descriptor? {
    do throws(Errno) { return try directory.open(name, access) } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  private func reason(_ error: Errno) -> Fault.Reason {
    switch error {
    case .symbolicLink: .symbolicLink
    case .denied where access == .root: .deniedToRoot
    default: .failed
    }
  }

  /// Makes the file of a uid, holding `content`, if there is none.
  package func create(_ uid: UInt32, content: Bytes) throws(Fault) {
    let owner = uid == 0 ? 0 : status.owner
    do throws(Errno) { try createFile(decimalDigits(UInt64(uid)), content: content, owner: owner) } catch {
      throw fault(uid, .failed, error: error.code)
    }
  }

  /// Creates a record's file, which appears whole under its name, or not at all.
  private func createFile(_ name: Bytes, content: Bytes, owner: UInt32) throws(Errno) {
    let file = try directory.createNameless(mode: 0o600)
    try file.setMode(0o600)
    if access == .root { try file.setOwner(owner, group: 0) }
    try file.write(content, at: 0)
    try file.sync()
    do throws(Errno) {
      try directory.link(file, as: name)
    } catch {
      if error != .exists { throw error }  // somebody was faster; theirs is as good
    }
    try directory.sync()
  }

  /// A file that all programs share, beside the records; made, holding `content`, if there is none.
  package func openShared(_ name: Bytes, content: Bytes) throws(Fault) -> Descriptor {
    do throws(Errno) {
      if let file = try find(name, .readWrite) { return file }
      try createFile(name, content: content, owner: status.owner)
      return try directory.open(name, .readWrite)
    } catch {
      throw fault(name, error)
    }
  }

  @inline(never)
  func fault(_ name: Bytes, _ error: Errno) -> Fault {
    Fault(.failed, path: joined(path, name), error: error.code)
  }

  /// Checks an open record file: it is the one under that name, and nobody else's.
  ///
  /// - Throws: a fault that says what is wrong with it.
  @inline(never)
  package func check(_ file: borrowing Descriptor, _ uid: UInt32) throws(Fault) -> FileStatus {
    let found: FileStatus
    do throws(Errno) { found = try file.status() } catch { throw fault(uid, .failed, error: error.code) }
    guard found.kind == .file, found.links == 1 else { throw fault(uid, .notPlainRecord) }
    guard uid != 0 && found.owner == status.owner || access.trusts(owner: found.owner) else {
      throw fault(uid, .foreignRecord, name: uid == 0 ? Bytes(text: "root") : Installed.account)
    }
    let writers: UInt32 = found.group == 0 ? 0o002 : 0o022
    guard found.mode & writers == 0 else {
      throw fault(uid, .openRecord)
    }
    return found
  }

  @inline(never)
  package func fault(
    _ uid: UInt32, _ reason: Fault.Reason, name: Bytes = [], number: UInt64 = 0, error: Int32 = 0
  ) -> Fault {
    Fault(reason, path: joined(path, decimalDigits(UInt64(uid))), name: name, number: number, error: error)
  }

  /// What a record file holds; nothing where it hasn't a record's length.
  ///
  /// - Throws: a fault, too, where a later version of this program wrote it.
  func content(_ file: borrowing Descriptor, _ status: FileStatus, _ uid: UInt32) throws(Fault) -> Bytes {
    let content: Bytes
    do throws(Errno) {
      content = status.size == RecordCodec.fileLength ? try file.read(status.size, at: 0) : []
    } catch {
      throw fault(uid, .failed, error: error.code)
    }
    if let version = recordCodec.laterVersion(content) {
      throw fault(uid, .laterVersion, number: version)
    }
    return content
  }
}
