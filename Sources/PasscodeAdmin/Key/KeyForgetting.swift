public import PasscodePolicy
internal import PasscodeSystem
public import PasscodeVault

// The way out where the TPM was cleared and there is no recovery copy: the passcodes are lost, and a new key is made.
//
// MUST (key):
// 15  `init --forget-sealed` gives up nothing while a key opens, or while the TPM only refuses for now, or before somebody
//     agreed to the number of passcodes that are lost. Killed anywhere, the same command, or `init`, goes on. `recover`
//     keeps what it replaces until one key opens everything.                                    test_key_ways_out.py

extension Vault {
  /// Removes the passcodes and the sealed key that nothing opens any more, and makes a new, plain one. For root.
  ///
  /// - Parameter isAgreed: gets how many passcodes are lost.
  /// - Returns: false if it was not agreed to; nothing is changed then.
  @inline(never)
  public func forgetSealedKey(_ room: KeyRoom, _ isAgreed: (UInt64) -> Bool) throws(Fault) -> Bool {
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    let sealed = sealedKey(.current)
    guard isSealed(.current) || isSealed(.next) else { throw Fault(.keyNotSealed, path: sealed.path) }
    for file in [plainKey(.current), plainKey(.next), loadedKey(.current), loadedKey(.next)] where file.exists
    {
      throw Fault(.keyNotLost, path: file.path)
    }
    for generation in [MachineKey.Generation.current, .next] where isSealed(generation) {
      try refuseIfItOpens(room, generation)
    }
    guard isAgreed(try enrolledCount()) else { return false }
    let store = try Store.open(configuration)
    for uid in try store.uids() { try forget(uid, store) }
    try sealedKey(.next).remove()
    try sealed.remove()
    try sealed.old.remove()
    try MachineKey(configuration: configuration).create(sodium)
    return true
  }

  private func refuseIfItOpens(_ room: KeyRoom, _ generation: MachineKey.Generation) throws(Fault) {
    do throws(Fault) { try openSealed(&room.compared.unsealed.key, generation) } catch {
      if error.keyProblem == .keyClosed { return }
      throw error
    }
    throw Fault(.keyNotLost, path: sealedKey(generation).path)
  }

  /// What an administrator has disabled stays so.
  private func forget(_ uid: UInt32, _ store: Store) throws(Fault) {
    switch try LockedRecord.acquire(store, uid, clock) {
    case .missing: return
    case .busy: throw Fault(.busyRecord, path: recordPath(uid))
    case .locked(var record):
      let isWhole = !record.isCorrupt
      if isWhole, record.current.state == .removed { return }
      var gone = Record(uid: uid, name: isWhole ? record.current.name : [], generation: 0)
      gone.disabled = isWhole && record.current.disabled
      do throws(Errno) { try record.replace(gone) } catch {
        throw Fault(.unwritableRecord, path: recordPath(uid), error: error.code)
      }
    }
  }
}
