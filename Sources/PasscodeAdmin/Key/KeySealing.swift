public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

// Sealing the machine key with the machine's TPM. For root, with the default configuration.
//
// MUST (key), here and in the other files of the key:
//  1  There is a file from which the key comes back at each step: the plain one goes only after what was sealed was opened
//     again and compared, and the recovery copy was printed; the sealed one only when the plain one is on the device. The
//     key is never in an argument, the environment or a temporary file, nor in the clear on a disk once it is sealed, but by
//     `unseal`.              test_key.py, test_key_tpm.py
// 11  Without `--pcrs` nothing is bound to a PCR's value that passes, and `status` advises nothing that would be.
//     test_a_systemd_that_needs_a_pcr_is_refused_while_that_one_is_not_zero,
//     test_status_never_advises_to_seal_to_a_value_that_passes
// 12  A TPM that refuses for now changes nothing, and is told with the command that ends it.       test_key_tpm.py

/// Room for the keys that a command works with.
public final class KeyRoom {
  var current: Secrets
  var next: Secrets
  /// What was read to be compared.
  var compared: Secrets

  /// nil: no memory.
  @inline(never)
  public init?(_ sodium: Sodium) {
    guard let current = Secrets(sodium), let next = Secrets(sodium), let compared = Secrets(sodium) else {
      return nil
    }
    self.current = current
    self.next = next
    self.compared = compared
  }
}

extension Vault {
  /// Seals the key that is in use, whether plain or loaded, and loads it; the plain one is then removed. Where there are
  /// different ones, `chooseKeyToSeal` decides.
  ///
  /// - Parameters:
  ///   - pcrs: as `SealingProgram.seal`; nil: as it is sealed now, or to none.
  ///   - show: prints the recovery copy, or says why it can't.
  @inline(never)
  public func sealKey(
    _ room: KeyRoom, pcrs: Bytes?, show: (borrowing SecretKey) throws(Fault) -> Void
  ) throws(Fault) {
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    try use(.current, &room.current.unsealed.key)
    // Says so where the next key doesn't open.
    if try leftToRotate(&room.next.unsealed) != nil { throw Fault(.keyRotating) }
    let isReplaced = try chooseKeyToSeal(room)
    try makeLoadedFolder(&room.compared.unsealed.key)
    let content = try sealed(
      room.current.unsealed.key, .current, pcrs ?? pcrsInUse(), &room.compared.unsealed.key,
      else: plainKey(.current).exists ? .keyNotSealable : .keyLoadedOnly)
    try show(room.current.unsealed.key)
    try sealedKey(.current).replace(sealed: content)
    try load(room.current.unsealed.key, .current, &room.compared.unsealed.key)
    try plainKey(.current).remove()
    // Somebody may have enrolled under the other key since records were counted; this waits for each.
    if isReplaced { _ = try rotateRecords(from: &room.next.unsealed, to: &room.current.unsealed) }
  }

  /// Opens what is sealed, once per boot, for everybody who may read the key.
  ///
  /// - Returns: whether there was anything to load.
  @inline(never)
  public func loadKey(_ room: KeyRoom) throws(Fault) -> Bool {
    guard isSealed(.current) || isSealed(.next) else {
      if !leftKeys.isEmpty { _ = try? lockKeys() }
      try checkNoneIsGone()
      return false
    }
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    var problem: Fault?
    // The next one first: after a rotation that was killed at its end, everything may need that. Each may fail alone.
    for generation in [MachineKey.Generation.next, .current] where sealedKey(generation).exists {
      do throws(Fault) {
        try openSealed(&room.current.unsealed.key, generation, seconds: SealingProgram.unitsPatience)
        if generation == .current, try isLoadedNeeded(room) { throw Fault(.otherKeyLoaded) }
        try load(room.current.unsealed.key, generation, &room.compared.unsealed.key)
      } catch {
        problem = error
      }
    }
    if let problem { throw problem }
    return true
  }

  /// - Throws: a fault where records need a key, and none is on the disk.
  private func checkNoneIsGone() throws(Fault) {
    guard configuration.isUsual, !plainKey(.current).exists else { return }
    try checkIsOnDisk()
    do throws(Fault) {
      let enrolled = try enrolledCount()
      if enrolled > 0 { throw Fault(.keyGone, path: policy.keyFile, number: enrolled) }
    } catch {
      // A fleet's workstation has none.
      if error.reason != .noStore { throw error }
    }
  }

  /// - Throws: a fault where the key is only loaded.
  func checkIsOnDisk() throws(Fault) {
    guard configuration.isUsual, !plainKey(.current).exists, !isSealed(.current), !isSealed(.next) else {
      return
    }
    if loadedKey(.current).exists { throw Fault(.keyInMemoryOnly, path: sealedKey(.current).path) }
  }

  /// Writes the plain key again, from what is loaded or from what is sealed, and removes the latter. What is loaded stays
  /// until the next boot, for those who looked for the plain one just before.
  ///
  /// While a rotation is under way this is done with both keys: without a TPM that seals it could not be finished.
  ///
  /// - Returns: where it is.
  @inline(never)
  public func unsealKey(_ room: KeyRoom) throws(Fault) -> Bytes {
    // Then all that an earlier one left is overwritten by locking the keys.
    let isInterrupted = sealedKey(.current).isLeft || sealedKey(.next).isLeft
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    let plain = plainKey(.current)
    let isThere = plain.exists
    guard isSealed(.current) || isSealed(.next) || !isThere || isInterrupted else {
      throw Fault(.keyNotSealed, path: sealedKey(.current).path)
    }
    if !isThere { try makePlain(.current, room) }
    let isNextMade = isSealed(.next) && !plainKey(.next).exists
    if isNextMade {
      do throws(Fault) { try makePlain(.next, room) } catch {
        // A next key that can't be unsealed is dropped if no record needs it.
        guard error.keyProblem == .keyClosed, (try? checkNothingNeedsAnother()) != nil else {
          if !isThere { try plain.remove() }
          throw error
        }
      }
    }
    // What is in use must be what the records need before the other one goes.
    if isThere || isNextMade {
      do throws(Fault) { try checkKeyServes() } catch {
        if isNextMade { try plainKey(.next).remove() }
        if !isThere { try plain.remove() }
        throw error
      }
    }
    try sealedKey(.next).remove()
    try sealedKey(.current).remove()
    return plain.path
  }

  private func makePlain(_ generation: MachineKey.Generation, _ room: KeyRoom) throws(Fault) {
    do throws(Fault) {
      try MachineKey(configuration: configuration).load(&room.current.unsealed.key, generation)
      // Unless what is sealed is known to be the same, what is loaded must be what the records need.
      if isSealed(generation) {
        let isOpen = (try? openSealed(&room.compared.unsealed.key, generation)) != nil
        if !isOpen || !room.compared.unsealed.key.equals(room.current.unsealed.key) { try checkKeyServes() }
      }
    } catch {
      guard isUnloaded(error, generation) else { throw lost(error) }
      try openSealed(&room.current.unsealed.key, generation)
    }
    try plainKey(generation).create(room.current.unsealed.key)
  }
}
