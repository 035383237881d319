internal import PasscodePolicy
internal import PasscodeSystem

/// Opens what nobody but the administrator can have put there.
///
/// - Every directory above MUST be a real directory (no symbolic link), owned by somebody trusted, and
///   writable by nobody else; root's sticky directories such as /tmp excepted. Checked from the root down, so
///   that each check holds for the next: who can't change a directory can't change what its entries name.
/// - The file itself MUST be opened without following a link, and what is checked is the open file.
/// - Test: test_trust.py.
struct Trust {
  enum Subject: Equatable {
    case configuration, key, store

    var kind: Fault.Kind {
      switch self {
      case .configuration: .configuration
      case .key: .key
      case .store: .store
      }
    }
  }

  let access: Access
  let subject: Subject
  /// A folder that was found trustworthy, with all above it, in this very call; empty: none.
  var known = Bytes()

  /// What came of opening.
  enum Opened: ~Copyable {
    case found(Descriptor, FileStatus)
    case missing
  }

  @inline(never)
  func open(_ path: Bytes) throws(Fault) -> Opened {
    guard try checkParents(of: path) else { return .missing }
    switch try openUnchecked(path) {
    case .missing: return .missing
    case .found(let file, let status):
      if let problem = problem(status) { throw fault(path, problem) }
      return .found(file, status)
    }
  }

  private func openUnchecked(_ path: Bytes) throws(Fault) -> Opened {
    do throws(Errno) {
      let file = try Descriptor.open(path, subject == .store ? .directory : .read)
      let status = try file.status()
      return .found(file, status)
    } catch {
      if error == .noEntry { return .missing }
      throw fault(path, problem(error))
    }
  }

  /// - Returns: false if one of them doesn't exist.
  private func checkParents(of path: Bytes) throws(Fault) -> Bool {
    var end = path.startIndex
    while let slash = path[end...].firstIndex(of: UInt8(ascii: "/")) {
      let parent = slash == path.startIndex ? Bytes(path[...slash]) : Bytes(path[..<slash])
      end = slash + 1
      if isKnown(parent) { continue }
      let status: FileStatus
      do throws(Errno) {
        status = try FileStatus.of(parent)
      } catch {
        if error == .noEntry { return false }
        throw fault(parent, problem(error))
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
    guard status.kind == .directory else { throw fault(path, "must be a directory, not a link or a file") }
    guard access.trusts(owner: status.owner) else { throw fault(path, Trust.foreign) }
    let isSticky = status.mode & 0o1000 != 0 && status.owner == 0
    guard status.mode & 0o022 == 0 || isSticky else { throw fault(path, Trust.writable) }
  }

  private static var foreign: Text { "belongs to somebody else than root; run: chown root" }
  private static var foreignStore: Text {
    "belongs to somebody else than _passcode; run: chown _passcode:root"
  }
  /// A service whose unit takes the capability from it, or one that is confined.
  static var deniedToRoot: Text {
    "root is denied access: the program lacks CAP_DAC_OVERRIDE, or is confined; see pam_passcode(8)"
  }
  private static var writable: Text { "others than its owner can write there; run: chmod go-w" }

  /// What is wrong with the open file; nil: nothing.
  private func problem(_ status: FileStatus) -> Text? {
    guard status.kind == (subject == .store ? .directory : .file) else {
      return subject == .store ? "must be a directory" : "must be a regular file"
    }
    guard access.trusts(owner: status.owner) || subject == .store && isServiceAccount(status.owner) else {
      return subject == .store ? Trust.foreignStore : Trust.foreign
    }
    // Stores were root's group's, too, once: they go on working, and `Vault.warnings` tells of it.
    let allowed: UInt32 = subject == .store && status.group == 0 ? 0o020 : 0
    guard status.mode & 0o022 & ~allowed == 0 else { return Trust.writable }
    return subject == .key && status.mode & 0o004 != 0 ? "everybody can read it; run: chmod o-r" : nil
  }

  private func problem(_ error: Errno) -> Text {
    switch error {
    case .symbolicLink: "must not be a symbolic link"
    case .notDirectory: "must be a directory, not a link or a file"
    case .denied where access == .service: "_passcode can't read it; see passcode-helper(8)"
    case .denied where access == .root: Trust.deniedToRoot
    default: Text(error.text)
    }
  }

  @inline(never)
  private func fault(_ path: Bytes, _ problem: Text) -> Fault {
    Fault(subject.kind, at: path, problem)
  }
}

extension Fault {
  /// `PATH: PROBLEM`.
  @inline(never)
  init(_ kind: Kind, at path: Bytes, _ problem: Text) {
    self.init(kind, "\(printable(path)): \(problem)")
  }
}
