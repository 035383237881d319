public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

// The recovery copy of a sealed key, typed in. For root, with the default configuration.
//
// MUST (key):
//  6  A key that doesn't open (TPM missing, cleared or another one, PCR changed) changes nothing: `unavailable`, uncounted,
//     and the password works. `recover` takes only a key that opens a record. No file in the store keeps it from that.
//     test_key.py, test_key_sealing.py

extension Vault {
  /// Takes the key of a recovery copy, in place of one that doesn't open: loads it, and seals it again.
  ///
  /// While a rotation is under way there may be two keys, and each may be recovered, in either order. One that opens
  /// everything ends it. While none is, a loaded key that opens nothing is replaced by one that opens something.
  ///
  /// - Throws: `keyLoadedOnly` where the TPM sealed nothing; `keyRotating` where both are loaded.
  /// - Returns: whether a rotation has to be finished; it seals both.
  @inline(never)
  public func recoverKey(
    _ key: borrowing SecretKey, _ room: KeyRoom, pcrs: Bytes?
  ) throws(Fault) -> Bool {
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    let plain = plainKey(.current)
    if !isAnotherNeeded(room), try isPlainNeeded(room) { throw Fault(.keyIsPlain, path: plain.path) }
    try checkOneIsLoaded(room)
    room.next.unsealed.key.copy(key)
    let count = try countOpened(&room.next.unsealed)
    guard count.opened > 0 || count.enrolled == 0 else {
      throw Fault(.keyOpensNothing, number: count.enrolled)
    }
    let isOther = isLoaded(.current, room) && !room.current.unsealed.key.equals(key)
    let isRotating = isSealed(.next)
    if !isRotating, try isSealedNeeded(room, count) { throw Fault(.otherKeyLoaded) }
    if isOther, !isRotating {
      // `isLoaded` has read it.
      guard count.opened > 0, try countOpened(&room.current.unsealed).opened == 0 else {
        throw Fault(.otherKeyLoaded)
      }
      try loadedKey(.current).keepAsOld()
      try load(key, .current, &room.compared.unsealed.key)
      // As in `sealKey`.
      _ = try rotateRecords(from: &room.current.unsealed, to: &room.next.unsealed)
    } else {
      try load(key, isOther ? .next : .current, &room.compared.unsealed.key)
    }
    if isRotating, isOther || count.opened < count.enrolled { return true }
    // What is enrolled meanwhile is under that one.
    if isRotating, isLoaded(.next, room), !room.current.unsealed.key.equals(key) { return true }
    if isRotating { try bringCopiesUpToDate(room) }
    let isComplete = count.opened == count.enrolled && count.damaged == 0
    if !isComplete { try sealedKey(.current).keepAsOld() }
    let content = try sealed(
      key, .current, pcrs ?? pcrsInUse(), &room.compared.unsealed.key, else: .keyLoadedOnly)
    try sealedKey(.current).replace(sealed: content)
    try sealedKey(.next).remove()
    if isComplete {
      try removePlain(room)
      try forgetReplaced()
    }
    return false
  }

  /// Refuses where two keys are loaded: what is enrolled meanwhile is under the next one, which may be nowhere else.
  private func checkOneIsLoaded(_ room: KeyRoom) throws(Fault) {
    guard isLoaded(.current, room) else { return }
    room.next.unsealed.key.copy(room.current.unsealed.key)
    // The same one twice: a rotation was killed while it sealed, after both were recovered.
    if isLoaded(.next, room), !room.next.unsealed.key.equals(room.current.unsealed.key) {
      throw Fault(.keyRotating)
    }
  }

  /// Removes a plain key that a backup brought back, once the recovered one opens everything. What was enrolled under the
  /// plain one meanwhile comes under the recovered one; this waits for each enrolment.
  private func removePlain(_ room: KeyRoom) throws(Fault) {
    guard plainKey(.current).exists else { return }
    try MachineKey(configuration: configuration).load(&room.current.unsealed.key)
    var left = try rotateRecords(from: &room.current.unsealed, to: &room.next.unsealed).left
    if left > 0 { throw Fault(.keyStillNeeded, number: left) }
    try plainKey(.current).remove()
    left = try rotateRecords(from: &room.current.unsealed, to: &room.next.unsealed).left
    if left > 0 { throw Fault(.keyStillNeeded, number: left) }
  }

  /// What recoveries replaced is kept until one key opens everything.
  func forgetReplaced() throws(Fault) {
    for file in [sealedKey(.current), loadedKey(.current)] { try file.old.remove() }
  }

  /// How many passcodes the key of a recovery copy opens, of how many; and whether it is the one in use. Changes nothing.
  @inline(never)
  public func checkRecovery(
    _ key: borrowing SecretKey, _ room: KeyRoom
  ) throws(Fault) -> (opened: UInt64, enrolled: UInt64, isInUse: Bool) {
    room.next.unsealed.key.copy(key)
    let count = try countOpened(&room.next.unsealed)
    let isInUse =
      (try? MachineKey(configuration: configuration).load(&room.current.unsealed.key)) != nil
      && room.current.unsealed.key.equals(key)
    return (count.opened, count.enrolled + count.damaged, isInUse)
  }

  private func isLoaded(_ generation: MachineKey.Generation, _ room: KeyRoom) -> Bool {
    (try? MachineKey(configuration: configuration).loadLoaded(&room.current.unsealed.key, generation)) == true
  }

  /// Whether a rotation of sealed keys needs another key than the plain ones: those may be what an `unseal` that was killed
  /// has left.
  private func isAnotherNeeded(_ room: KeyRoom) -> Bool {
    isSealed(.next)
      && ((try? checkKeyServes()) == nil || (try? leftToRotate(&room.compared.unsealed)) == nil)
  }

  /// Whether a plain key exists that records may need. One that a backup brought back beside a sealed one, and that
  /// opens nothing, isn't: it goes once one key opens everything.
  private func isPlainNeeded(_ room: KeyRoom) throws(Fault) -> Bool {
    guard plainKey(.current).exists else { return false }
    guard isSealed(.current) || isSealed(.next),
      (try? MachineKey(configuration: configuration).load(&room.compared.unsealed.key)) != nil
    else { return true }
    let count = try countOpened(&room.compared.unsealed)
    return count.opened > 0 || count.damaged > 0
  }

  /// Where a key opens every record, the older copy of one may still need the other key.
  private func bringCopiesUpToDate(_ room: KeyRoom) throws(Fault) {
    room.current.unsealed.key.copy(room.next.unsealed.key)
    let left = try rotateRecords(from: &room.current.unsealed, to: &room.next.unsealed).left
    if left > 0 { throw Fault(.keyStillNeeded, number: left) }
  }
}
