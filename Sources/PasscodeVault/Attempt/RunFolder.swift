package import PasscodePolicy
package import PasscodeSystem

/// The runtime directory, for what holds within one boot: /run/passcode, made by the first root caller where tmpfiles
/// didn't; the service account's alone. One whose maker was killed before it had that owner gets it from the next root
/// caller.                                                                    test_first_login.py
package enum RunFolder {
  @inline(never)
  package static var path: Bytes { Bytes(text: "/run/passcode") }

  package static func path(of file: Bytes) -> Bytes { joined(path, file) }

  @inline(never)
  package static func open(_ access: Access) throws(Errno) -> Descriptor {
    let folder = try openOrMake(access)
    if access == .root, try folder.status().owner == 0, let owner = serviceAccount() {
      try folder.setMode(0o700)
      try folder.setOwner(owner.uid, group: 0)
    }
    return folder
  }

  private static func openOrMake(_ access: Access) throws(Errno) -> Descriptor {
    do throws(Errno) {
      return try Descriptor.open(path, .directory)
    } catch {
      guard error == .noEntry, access == .root else { throw error }
    }
    try makeDirectory(path, mode: 0o700)
    return try Descriptor.open(path, .directory)
  }
}
