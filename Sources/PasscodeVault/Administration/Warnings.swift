public import PasscodePolicy
internal import PasscodeSystem

extension Vault {
  /// What works, and should be different all the same: a store or a runtime directory of an older version, which the
  /// group root can write. For root.                                                               test_access.py
  public func warnings() throws(Fault) -> [Text] {
    var open: [Bytes] = []
    if try Store.open(configuration).isSharedWithGroup() { open.append(policy.store) }
    if configuration.isUsual, let run = try? FileStatus.of(RunFolder.path), run.mode & 0o020 != 0 {
      open.append(RunFolder.path)
    }
    return open.map {
      let path = printable($0)
      return "warning: \(path): the group root can write there; run: chmod -R go=,g-s \(path)"
    }
  }
}
