public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

extension Vault {
  /// What works, and should be different all the same: a store or a runtime directory of an older version, which the
  /// group root can write. For root.                                                               test_access.py
  ///
  /// - Returns: the folders that the group can write.
  public func sharedFolders() throws(Fault) -> [Bytes] {
    var open: [Bytes] = []
    if try Store.open(configuration).isSharedWithGroup() { open.append(policy.store) }
    if configuration.isUsual, let run = try? FileStatus.of(RunFolder.path), run.mode & 0o020 != 0 {
      open.append(RunFolder.path)
    }
    return open
  }
}
