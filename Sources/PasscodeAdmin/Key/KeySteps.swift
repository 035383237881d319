internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

// What the commands that change keys are made of.
//
// MUST (key):
// 20  In each state that an accident leaves (a kill, a TPM that is cleared or locked, a key that is gone or comes
//     back), a command's message names the command that repairs it. Three commands at most are needed.
//                                                                                             test_key_advice.py

extension Vault {
  func plainKey(_ generation: MachineKey.Generation) -> KeyFile { keyFile(policy.keyFile, generation) }

  func loadedKey(_ generation: MachineKey.Generation) -> KeyFile { keyFile(KeyPlaces.loaded, generation) }

  func sealedKey(_ generation: MachineKey.Generation) -> KeyFile {
    keyFile(policy.keyFile + Bytes(text: ".cred"), generation)
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
    let lock = try plainKey(.current).lock(or: sealedKey(.current))
    // Where it fails, as on a read-only disk, keys can still be loaded; `status` names the file.
    for file in leftKeys { try? file.overwriteLeft() }
    return lock
  }

  /// Whether what was overwritten is gone from the device, of the key and of the records alike.
  public var overwritesInPlace: Bool {
    let folder = Bytes(policy.keyFile[..<(policy.keyFile.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
    return leftKeys.isEmpty
      && [folder, policy.store].allSatisfy {
        (try? Descriptor.open($0 + Bytes(text: "/."), .directory).isOverwrittenInPlace) == true
      }
  }

  /// The files that a command was interrupted before it had overwritten.
  var leftKeys: [KeyFile] {
    var files = [plainKey(.current), plainKey(.next)]
    if configuration.isUsual {
      files += [sealedKey(.current), sealedKey(.next), sealedKey(.current).old]
      files += [loadedKey(.current), loadedKey(.next), loadedKey(.current).old]
    }
    return files.filter { $0.isLeft }
  }

  /// Loads a key as everybody does; where that is sealed and not loaded, says why.
  ///
  /// - Parameter unlessPlain: passes over a plain one.
  @inline(never)
  func use(
    _ generation: MachineKey.Generation, _ key: inout SecretKey, unlessPlain: Bool = false
  ) throws(Fault) {
    let machineKey = MachineKey(configuration: configuration)
    do throws(Fault) {
      if unlessPlain, try machineKey.loadLoaded(&key, generation) { return }
      if unlessPlain { throw Fault(.noKey, path: policy.keyFile) }
      try machineKey.load(&key, generation)
    } catch {
      guard isUnloaded(error, generation) else { throw lost(error) }
      try openSealed(&key, generation)
      throw Fault(.keyNotLoaded, path: sealedKey(generation).path)
    }
  }

  /// Whether a key is missing only because the sealed one was not loaded.
  func isUnloaded(_ fault: Fault, _ generation: MachineKey.Generation) -> Bool {
    fault.reason == .noKey && isSealed(generation)
  }

  /// What is said where a key is missing: amid a rotation of sealed keys, records may need the one that is gone.
  func lost(_ fault: Fault) -> Fault {
    guard fault.reason == .noKey, isSealed(.next), let enrolled = try? enrolledCount() else { return fault }
    return Fault(.keyGone, path: policy.keyFile, number: enrolled)
  }

  /// Whether a recovered key is loaded as the current and as the next one: the other one is still missing then.
  func isLoadedTwice(_ room: KeyRoom) -> Bool {
    let machineKey = MachineKey(configuration: configuration)
    return isSealed(.next) && !plainKey(.current).exists
      && (try? machineKey.loadLoaded(&room.compared.unsealed.key, .current)) == true
      && room.compared.unsealed.key.equals(room.next.unsealed.key)
  }

  /// Seals a key, and opens that again to compare. No file is written.
  @inline(never)
  func sealed(
    _ key: borrowing SecretKey, _ generation: MachineKey.Generation, _ pcrs: Bytes,
    _ compared: inout SecretKey, else problem: KeyProblem
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
  func openSealed(
    _ key: inout SecretKey, _ generation: MachineKey.Generation, seconds: UInt32 = SealingProgram.patience
  ) throws(Fault) {
    let content = try sealedContent(generation)
    do throws(SealingProgram.Problem) { try SealingProgram.open(content, &key, seconds: seconds) } catch {
      let path = sealedKey(generation).path
      if error.isLockout { throw Fault(.keyLocked, path: path) }
      let newer = Bytes(text: "sealed by a newer systemd, or damaged: ")
      throw Fault(
        .keyClosed, path: path, name: SealedKey.isKnown(content) ? error.words : newer + error.words)
    }
  }
}
