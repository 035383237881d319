internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A file in the service account's folder that root uses, too: a name there may be a hard link to any file, or a file
/// that was moved.
enum ServiceFile {
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
