public import PasscodePolicy
public import PasscodeSystem
public import PasscodeVault

// Sealing the machine key with the machine's TPM. For root, with the default configuration.
//
// MUST (key), here and in the other files of the key:
//  1  There is a file from which the key comes back at each step: the plain one goes only after what was sealed was opened
//     again and compared, and the recovery copy was printed; the sealed one only when the plain one is on the device. The
//     key is never in an argument, the environment or a temporary file, nor in the clear on a disk once it is sealed, but by
//     `unseal`.              test_key.py, test_key_tpm.py
//  6  A key that doesn't open (TPM missing, cleared or another one, PCR changed) changes nothing: `unavailable`, uncounted,
//     and the password works. `recover` takes only a key that opens a record. No file in the store keeps it from that.
//     test_key.py, test_key_sealing.py
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
  ///   - show: prints the recovery copy; false: it could not.
  @inline(never)
  public func sealKey(
    _ room: KeyRoom, pcrs: Bytes?, show: (borrowing SecretKey) -> Bool
  ) throws(Fault) {
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    try refuseWhileRotating()
    try use(.current, &room.current.unsealed.key)
    let isReplaced = try chooseKeyToSeal(room)
    try makeLoadedFolder(&room.compared.unsealed.key)
    try seal(room.current.unsealed.key, .current, pcrs ?? pcrsInUse(), &room.compared.unsealed.key)
    guard show(room.current.unsealed.key) else { throw Fault(.copyNotShown) }
    try load(room.current.unsealed.key, .current, &room.compared.unsealed.key)
    try plainKey(.current).remove()
    // Somebody may have enrolled under the other key since records were counted; this waits for each.
    if isReplaced { _ = try rotateRecords(&room.next.unsealed, &room.current.unsealed) }
  }

  /// Opens what is sealed, once per boot, for everybody who may read the key.
  ///
  /// - Returns: whether there was anything to load.
  @inline(never)
  public func loadKey(_ room: KeyRoom) throws(Fault) -> Bool {
    guard isSealed(.current) || isSealed(.next) else {
      try checkNoneIsGone()
      return false
    }
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    var problem: Fault?
    // The next one first: after a rotation that was killed at its end, everything may need that. Each may fail alone.
    for generation in [MachineKey.Generation.next, .current] where sealedKey(generation).exists {
      do throws(Fault) {
        try openSealed(&room.current.unsealed.key, generation)
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
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    let plain = plainKey(.current)
    let isThere = plain.exists
    guard isSealed(.current) || isSealed(.next) || !isThere else {
      throw Fault(.keyNotSealed, path: sealedKey(.current).path)
    }
    if !isThere { try makePlain(.current, room) }
    if isSealed(.next), !plainKey(.next).exists { try makePlain(.next, room) }
    // What is in use must be what the records need before the other one goes.
    if isThere { try checkKeyServes() }
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
      guard isUnloaded(error, generation) else { throw error }
      try openSealed(&room.current.unsealed.key, generation)
    }
    try plainKey(generation).create(room.current.unsealed.key)
  }

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
    if plain.exists { throw Fault(.keyIsPlain, path: plain.path) }
    // What is enrolled meanwhile is under the next one, which may be nowhere else.
    if isLoaded(.current, room) {
      room.next.unsealed.key.copy(room.current.unsealed.key)
      // The same one twice: a rotation was killed while it sealed, after both were recovered.
      if isLoaded(.next, room), !room.next.unsealed.key.equals(room.current.unsealed.key) {
        throw Fault(.keyRotating)
      }
    }
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
      _ = try rotateRecords(&room.current.unsealed, &room.next.unsealed)
    } else {
      try load(key, isOther ? .next : .current, &room.compared.unsealed.key)
    }
    if isRotating, isOther || count.opened < count.enrolled { return true }
    // What is enrolled meanwhile is under that one.
    if isRotating, isLoaded(.next, room), !room.current.unsealed.key.equals(key) { return true }
    if isRotating { try bringCopiesUpToDate(room) }
    let isComplete = count.opened == count.enrolled && count.damaged == 0
    if !isComplete { try sealedKey(.current).keepAsOld() }
    try seal(key, .current, pcrs ?? pcrsInUse(), &room.compared.unsealed.key, else: .keyLoadedOnly)
    try sealedKey(.next).remove()
    if isComplete { try forgetReplaced() }
    return false
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
    let isInUse = isLoaded(.current, room) && room.current.unsealed.key.equals(key)
    return (count.opened, count.enrolled + count.damaged, isInUse)
  }

  private func isLoaded(_ generation: MachineKey.Generation, _ room: KeyRoom) -> Bool {
    (try? MachineKey(configuration: configuration).load(&room.current.unsealed.key, generation)) != nil
  }

  /// Where a key opens every record, the older copy of one may still need the other key.
  private func bringCopiesUpToDate(_ room: KeyRoom) throws(Fault) {
    room.current.unsealed.key.copy(room.next.unsealed.key)
    let left = try rotateRecords(&room.current.unsealed, &room.next.unsealed).left
    if left > 0 { throw Fault(.keyStillNeeded, number: left) }
  }
}

// MARK: - Steps

extension Vault {
  func plainKey(_ generation: MachineKey.Generation) -> KeyFile { keyFile(policy.keyFile, generation) }

  func loadedKey(_ generation: MachineKey.Generation) -> KeyFile { keyFile(KeyPlaces.loaded, generation) }

  func sealedKey(_ generation: MachineKey.Generation) -> KeyFile {
    keyFile(KeyPlaces.sealed(policy.keyFile), generation)
  }

  private func keyFile(_ path: Bytes, _ generation: MachineKey.Generation) -> KeyFile {
    KeyFile(path + KeyPlaces.suffix(generation), configuration.access)
  }

  /// One process at a time changes keys.
  ///
  /// - Parameter toSeal: only the key of the default configuration is sealed.
  @inline(never)
  func lockKeys(toSeal: Bool = false) throws(Fault) -> FileLock {
    if toSeal, !configuration.isUsual { throw Fault(.keyOfOtherConfiguration) }
    return try plainKey(.current).lock(or: sealedKey(.current))
  }

  @inline(never)
  private func refuseWhileRotating() throws(Fault) {
    if sealedKey(.next).exists || plainKey(.next).exists { throw Fault(.keyRotating) }
  }

  /// Loads a key as everybody does; where that is sealed and not loaded, says why.
  @inline(never)
  func use(_ generation: MachineKey.Generation, _ key: inout SecretKey) throws(Fault) {
    do throws(Fault) {
      try MachineKey(configuration: configuration).load(&key, generation)
    } catch {
      guard isUnloaded(error, generation) else { throw error }
      try openSealed(&key, generation)
      throw Fault(.keyNotLoaded, path: sealedKey(generation).path)
    }
  }

  /// Whether a key is missing only because the sealed one wasn't loaded.
  func isUnloaded(_ fault: Fault, _ generation: MachineKey.Generation) -> Bool {
    fault.reason == .noKey && isSealed(generation)
  }

  /// Seals a key into its file; in place of the one that is there only when what was sealed opens again.
  func seal(
    _ key: borrowing SecretKey, _ generation: MachineKey.Generation, _ pcrs: Bytes,
    _ compared: inout SecretKey, else problem: KeyProblem = .keyNotSealable
  ) throws(Fault) {
    let content = try sealed(key, generation, pcrs, &compared, else: problem)
    try sealedKey(generation).replace(sealed: content)
  }

  /// Seals a key, and opens that again to compare. No file is written.
  @inline(never)
  func sealed(
    _ key: borrowing SecretKey, _ generation: MachineKey.Generation, _ pcrs: Bytes,
    _ compared: inout SecretKey, else problem: KeyProblem = .keyNotSealable
  ) throws(Fault) -> Bytes {
    let file = sealedKey(generation)
    let sealed: Bytes
    do throws(SealingProgram.Problem) { sealed = try sealedAndOpened(key, pcrs, &compared) } catch {
      if error.isLockout { throw Fault(.keyLocked, path: file.path) }
      throw Fault(problem, path: file.path, name: error.words)
    }
    guard compared.equals(key) else {
      throw Fault(problem, path: file.path, name: Bytes(text: "the TPM gave another key"))
    }
    if pcrs.isEmpty, SealedKey.pcrs(sealed) == SealedKey.debugPCR, !SealedKey.isBoundToZero(sealed) {
      throw Fault(.pcrNotZero)
    }
    return sealed
  }

  /// - Parameters:
  ///   - pcrs: empty: none; where systemd then opens nothing (252), the one that is 0 after a boot.
  ///   - compared: gets what was opened.
  private func sealedAndOpened(
    _ key: borrowing SecretKey, _ pcrs: Bytes, _ compared: inout SecretKey
  ) throws(SealingProgram.Problem) -> Bytes {
    var sealed = try SealingProgram.seal(key, pcrs: pcrs)
    do throws(SealingProgram.Problem) { try SealingProgram.open(sealed, &compared) } catch {
      guard pcrs.isEmpty, !error.isLockout else { throw error }
      sealed = try SealingProgram.seal(key, pcrs: SealedKey.debugPCR)
      try SealingProgram.open(sealed, &compared)
    }
    return sealed
  }

  /// The PCRs to which the sealed key is bound; empty where none is sealed, or that can't be told.
  @inline(never)
  func pcrsInUse() -> Bytes {
    let pcrs = (try? sealedContent(.current)).flatMap { SealedKey.pcrs($0) } ?? []
    return pcrs == SealedKey.debugPCR ? [] : pcrs
  }

  /// What a file with a sealed key holds.
  @inline(never)
  func sealedContent(_ generation: MachineKey.Generation) throws(Fault) -> Bytes {
    let path = sealedKey(generation).path
    guard case .found(let file, _) = try configuration.trust(.key).open(path) else {
      throw Fault(.missing, path: path)
    }
    do throws(Errno) { return try file.read(SealingProgram.longest, at: 0) } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  @inline(never)
  func openSealed(_ key: inout SecretKey, _ generation: MachineKey.Generation) throws(Fault) {
    let content = try sealedContent(generation)
    do throws(SealingProgram.Problem) { try SealingProgram.open(content, &key) } catch {
      let path = sealedKey(generation).path
      if error.isLockout { throw Fault(.keyLocked, path: path) }
      let newer = Bytes(text: "sealed by a newer systemd, or damaged: ")
      throw Fault(
        .keyClosed, path: path, name: SealedKey.isKnown(content) ? error.words : newer + error.words)
    }
  }
}
