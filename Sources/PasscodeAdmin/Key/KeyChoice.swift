internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// Which of several keys stays. The plain one, the loaded one and the sealed one may differ after a backup was restored. A
// record opens with one of them at most.
//
// MUST (key):
//  8  Where there are different keys, as after a backup was restored, the one that opens the records stays, whether it is
//     plain, loaded or sealed. Where two open some, or none does, or what can't be opened may be needed, nothing is changed.
//     What is enrolled meanwhile under the key that goes, opens with the one that stays.
//     test_sealing_keeps_the_key_that_the_passcodes_need, test_nor_does_it_lose_one_that_is_only_loaded,
//     test_killed_while_it_decides_nobody_is_lost, test_a_wrong_key_that_is_loaded_keeps_nothing_from_being_put_right,
//     test_no_recovery_copy_takes_the_place_of_a_key_that_opens_something
// 14  An attempt whose record no other key opens is made with the loaded one: a plain key that came back locks nobody out.
//     test_a_plain_key_that_comes_back_locks_nobody_out

extension Vault {
  /// Decides which key `sealKey` seals: the one in use, or, if that one opens nothing, another one that opens something.
  /// Changes nothing.
  ///
  /// - Parameter room: holds the key in use as the current one; afterwards, the one that stays, and as the next one the one
  ///   that goes. The others are tried in the rest of the room: no rotation is under way.
  /// - Returns: whether the key in use goes.
  /// - Throws: `keyOpensNone` or `keyClosed` where that can't be decided.
  func chooseKeyToSeal(_ room: KeyRoom) throws(Fault) -> Bool {
    let inUse = try countOpened(&room.current.unsealed)
    if inUse.opened == inUse.enrolled, inUse.damaged == 0 { return false }
    let isSealed = isSealed(.current)
    let isOpen = isSealed && (try? openSealed(&room.next.unsealed.key, .current)) != nil
    var isLoadedAnother = false
    if plainKey(.current).exists, try readLoaded(&room.compared.unsealed.key) {
      isLoadedAnother = !room.compared.unsealed.key.equals(room.current.unsealed.key)
    }
    let isSealedAnother =
      isOpen && !room.next.unsealed.key.equals(room.current.unsealed.key)
      && !(isLoadedAnother && room.next.unsealed.key.equals(room.compared.unsealed.key))
    if !isLoadedAnother, !isSealedAnother, isOpen == isSealed { return false }

    let byLoaded = isLoadedAnother ? try countOpened(&room.compared.unsealed).opened : 0
    let bySealed = isSealedAnother ? try countOpened(&room.next.unsealed).opened : 0
    let needed = (inUse.opened > 0 ? 1 : 0) + (byLoaded > 0 ? 1 : 0) + (bySealed > 0 ? 1 : 0)
    let opensAll = inUse.opened + byLoaded + bySealed == inUse.enrolled
    guard needed == 1, isOpen == isSealed || opensAll else {
      // Says why not.
      if needed == 0 || needed == 1 && !plainKey(.current).exists, isOpen != isSealed {
        try openSealed(&room.next.unsealed.key, .current)
      }
      throw Fault(
        .keyOpensNone, path: policy.keyFile, number: inUse.enrolled + inUse.damaged - inUse.opened)
    }
    if inUse.opened > 0 { return false }
    if bySealed > 0 { room.compared.unsealed.key.copy(room.next.unsealed.key) }
    room.next.unsealed.key.copy(room.current.unsealed.key)
    room.current.unsealed.key.copy(room.compared.unsealed.key)
    return true
  }

  /// Whether what is sealed, other than a recovered key, may be needed. What can't be opened isn't: that is what a recovery
  /// is for.
  ///
  /// - Parameters:
  ///   - room: holds the recovered key as the next one.
  ///   - count: of that.
  func isSealedNeeded(_ room: KeyRoom, _ count: Credentials) throws(Fault) -> Bool {
    // Then nothing else is; and each time that a TPM refuses may take seconds.
    if count.opened == count.enrolled, count.damaged == 0 { return false }
    guard isSealed(.current), (try? openSealed(&room.compared.unsealed.key, .current)) != nil,
      !room.compared.unsealed.key.equals(room.next.unsealed.key)
    else { return false }
    // A damaged record may come back from a backup.
    if count.opened == 0, count.damaged > 0 { return true }
    return try countOpened(&room.compared.unsealed).opened > 0
  }

  /// Whether a loaded key, other than the sealed one, opens something. While a rotation is under way, both are somewhere;
  /// and one that isn't to be trusted is replaced.
  ///
  /// - Parameter room: holds the sealed one as the current one.
  func isLoadedNeeded(_ room: KeyRoom) throws(Fault) -> Bool {
    guard !isSealed(.next),
      (try? readLoaded(&room.next.unsealed.key)) == true,
      !room.next.unsealed.key.equals(room.current.unsealed.key)
    else { return false }
    return try countOpened(&room.next.unsealed).opened > 0
  }

  /// - Returns: false if there is none, or a part of one.
  private func readLoaded(_ key: inout SecretKey) throws(Fault) -> Bool {
    do throws(Fault) { return try MachineKey(configuration: configuration).loadLoaded(&key) } catch {
      if error.reason == .keyLength { return false }
      throw error
    }
  }
}
