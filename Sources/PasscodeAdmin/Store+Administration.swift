package import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
package import PasscodeVault

// What only root's tool does with the store as a whole.

extension Store {
  /// Makes the directory if there is none, for the service account or, where that doesn't exist, for its
  /// maker alone.
  ///
  /// - Returns: whether there was none.
  package static func create(_ configuration: Configuration) throws(Fault) -> Bool {
    let path = configuration.options.policy.store
    let trust = configuration.trust(.store)
    guard case .missing = try trust.open(path) else { return false }
    do throws(Errno) {
      let owner = configuration.access == .root ? serviceAccount() : nil
      let directory = try makeDirectory(path, mode: 0o700)
      guard let owner else { return true }
      try directory.setOwner(owner.uid, group: 0)
      return true
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  /// The names of all files in the store.
  package func names() throws(Fault) -> [Bytes] {
    do throws(Errno) { return try directory.names() } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  /// The uids that have a record file, in ascending order.
  package func uids() throws(Fault) -> [UInt32] {
    var uids: [UInt32] = []
    do throws(Errno) {
      try directory.forEachName { name in
        if let number = decimal(name[...]), number < UInt64(UInt32.max) { uids.append(UInt32(number)) }
      }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    sort(&uids)
    return uids
  }

  /// Whether a group can write the directory or a record: as older versions made them, for the group root.
  package func isSharedWithGroup() throws(Fault) -> Bool {
    if status.mode & 0o020 != 0 { return true }
    for uid in try uids() {
      let file = try? FileStatus.of(Text("\(path)/\(uid)").bytes)
      if let file, file.mode & 0o020 != 0 { return true }
    }
    return false
  }
}
