package import PasscodePolicy
package import PasscodeSystem

/// Opens what nobody but the administrator can have put there.
///
/// - Every directory above MUST be a real directory (no symbolic link), owned by somebody trusted, and
///   writable by nobody else; root's sticky directories such as /tmp excepted. Checked from the root down, so
///   that each check holds for the next: who can't change a directory can't change what its entries name.
/// - The file itself MUST be opened without following a link, and what is checked is the open file.
/// - Test: test_trust.py.
package struct Trust {
  package enum Subject: Equatable {
    case configuration, key, store
  }

  let access: Access
  let subject: Subject
  /// A folder that was found trustworthy, with all above it, in this very call; empty: none.
  var known = Bytes()

  /// What came of opening.
  package enum Opened: ~Copyable {
    case found(Descriptor, FileStatus)
    case missing
  }

  @inline(never)
  package func open(_ path: Bytes) throws(Fault) -> Opened {
    guard try checkParents(of: path) else { return .missing }
    let file: Descriptor
    do throws(Errno) { file = try Descriptor.open(path, subject == .store ? .directory : .read) } catch {
      if error == .noEntry { return .missing }
      throw fault(path, reason(error), error)
    }
    let status: FileStatus
    do throws(Errno) { status = try file.status() } catch { throw fault(path, reason(error), error) }
    if let reason = reason(status) {
      throw fault(path, reason, owner: subject == .store ? Installed.account : nil)
    }
    return .found(file, status)
  }

  /// The whole content of an administrator's text; nil: there is no such file. Of one that is too large it has one byte too
  /// many, by which its parser knows.
  package func text(_ path: Bytes) throws(Fault) -> Bytes? {
    guard case .found(let file, let status) = try open(path) else { return nil }
    do throws(Errno) {
      let size = min(max(0, status.size), OptionParser.largestFile + 1)
      let text = try file.read(size, at: 0)
      // Cut while it is read: half of it isn't what its author wants.
      guard text.count == size, status.size >= 0 else { throw .inputOutput }
      return text
    } catch {
      throw Fault(.failed, inConfiguration: true, path: path, error: error.code)
    }
  }

  /// - Returns: false if one of them doesn't exist.
  package func checkParents(of path: Bytes) throws(Fault) -> Bool {
    var end = path.startIndex
    while let slash = path[end...].firstIndex(of: UInt8(ascii: "/")) {
      let parent = Bytes(path[..<max(slash, 1)])
      end = slash + 1
      if isKnown(parent) { continue }
      let status: FileStatus
      do throws(Errno) {
        status = try FileStatus.of(parent)
      } catch {
        if error == .noEntry { return false }
        throw fault(parent, reason(error), error)
      }
      try checkParent(status, parent)
    }
    return true
  }

  private func isKnown(_ folder: Bytes) -> Bool {
    if folder.count == 1 { return true }  // "/": who could change that could change libpam itself
    guard known.starts(with: folder) else { return false }
    return folder.count == known.count || known[folder.count] == UInt8(ascii: "/")
  }

  private func checkParent(_ status: FileStatus, _ path: Bytes) throws(Fault) {
    guard status.kind == .directory else { throw fault(path, .notDirectory) }
    guard access.trusts(owner: status.owner) else { throw fault(path, .wrongOwner) }
    let isSticky = status.mode & 0o1000 != 0 && status.owner == 0
    guard status.mode & 0o022 == 0 || isSticky else { throw fault(path, .writableByOthers) }
  }

  /// What is wrong with the open file; nil: nothing.
  private func reason(_ status: FileStatus) -> Fault.Reason? {
    guard status.kind == (subject == .store ? .directory : .file) else {
      return subject == .store ? .notDirectory : .notRegularFile
    }
    guard access.trusts(owner: status.owner) || subject == .store && isServiceAccount(status.owner) else {
      return .wrongOwner
    }
    // Stores were root's group's, too, once: they go on working, and PasscodeAdmin warns of it (`sharedFolders`).
    let allowed: UInt32 = subject == .store && status.group == 0 ? 0o020 : 0
    guard status.mode & 0o022 & ~allowed == 0 else { return .writableByOthers }
    return subject == .key && status.mode & 0o004 != 0 ? .readableByAll : nil
  }

  private func reason(_ error: Errno) -> Fault.Reason {
    switch error {
    case .symbolicLink: .symbolicLink
    case .notDirectory: .notDirectory
    case .denied where access == .service: .deniedToService
    // A service whose unit takes the capability from it, or one that is confined.
    case .denied where access == .root: .deniedToRoot
    default: .failed
    }
  }

  @inline(never)
  private func fault(
    _ path: Bytes, _ reason: Fault.Reason, _ error: Errno = Errno(0), owner: Bytes? = nil
  ) -> Fault {
    Fault(
      reason, inConfiguration: subject == .configuration, path: path,
      name: reason == .wrongOwner ? owner ?? Bytes(text: "root") : [], error: error.code)
  }
}
