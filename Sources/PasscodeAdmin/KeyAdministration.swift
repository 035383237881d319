public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

// The machine key, and whether it is the one that the records need. For root, or a person's own store.

extension Vault {
  /// Makes the machine key, and the store where there is none. For root, or a person's own store.
  ///
  /// - Throws: a fault if there are both, or if the store holds a credential (it would never open again).
  /// - Returns: whether a key was made; if not, only the store was missing.
  @discardableResult
  public func createKey() throws(Fault) -> Bool {
    let isStoreNew = try Store.create(configuration)
    let enrolled = try enrolledCount()
    guard enrolled == 0 else {
      throw Fault(.keyNeeded, path: policy.keyFile, number: enrolled)
    }
    // With the store, while there is room on the disk.
    _ = try Store.open(configuration).openShared(HashingSlots.name, content: HashingSlots.nothing)
    if isStoreNew, (try? checkKey()) != nil { return false }
    if isSealed(.current) { throw Fault(.keyExists, path: sealedKey(.current).path) }
    try MachineKey(configuration: configuration).create(sodium)
    return true
  }

  /// For root, or a person's own store.
  ///
  /// - Throws: a fault if the key can't be used, by the helper either, or isn't the one of every passcode.
  public func checkKeyServes() throws(Fault) {
    try checkKey()
    try MachineKey(configuration: configuration).checkServiceReads()
    var closed: UInt64 = 0
    var everybody = try list()
    while true {
      let parts = everybody.nextPortion()
      guard parts > 0 else { break }
      for _ in 0..<parts {
        try everybody.tellPart { if $0.state != .corrupt, $0.length == nil { closed += 1 } }
      }
    }
    guard closed == 0 else {
      throw Fault(.keyOpensNone, path: policy.keyFile, number: closed)
    }
  }

  /// As `checkKeyServes`, where a sealed key is to go for good: of each record that there is, also where its account has
  /// another name now.
  ///
  /// - Throws: a fault, too, where a record can't be read: it may need that key.
  func checkNothingNeedsAnother() throws(Fault) {
    try checkKeyServes()
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    let store = try Store.open(configuration)
    for uid in try store.uids() {
      guard let reading = try read(store, uid) else { continue }
      guard let record = reading.record else {
        throw Fault(.keyOpensNone, path: policy.keyFile, number: 1)
      }
      if record.state != .removed { _ = try openCredential(record, &secrets.unsealed) }
    }
  }

  /// - Throws: a fault that says what is wrong with the key, if anything is.
  public func checkKey() throws(Fault) {
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    try MachineKey(configuration: configuration).load(&secrets.unsealed.key)
  }

  /// - Throws: a fault if nobody could be enrolled now: no store, no key.
  public func checkReadiness() throws(Fault) {
    try checkKey()
    _ = try Store.open(configuration)
  }

  /// The short ids of the key in use, and of the next one while a rotation is under way.
  ///
  /// - Parameter room: as `examineKey` leaves it.
  public func keyIDs(_ room: KeyRoom) -> [Bytes] {
    let isRotating = isSealed(.next) || plainKey(.next).exists
    return [room.current.unsealed.key.id] + (isRotating ? [room.next.unsealed.key.id] : [])
  }

  /// The machine key that is in use: a plain one, or a sealed one.
  public enum KeyForm {
    case plain(Bytes)
    /// Bound to these PCRs (empty: to none; nil: not known).
    case sealed(Bytes, pcrs: Bytes?)
  }

  /// Checks everything about the key, and notes what should be different. For root, or a person's own store. It may ask the
  /// TPM, which takes seconds.
  ///
  /// - Throws: a fault if it can't be used, or isn't the one of every passcode.
  @inline(never)
  public func examineKey(_ room: KeyRoom) throws(Fault) -> KeyForm {
    try use(.current, &room.current.unsealed.key)
    try checkIsOnDisk()
    do throws(Fault) { try checkKeyServes() } catch {
      // The passcodes may need another one that is there; one that doesn't open has its own words.
      let (machineKey, plain) = (MachineKey(configuration: configuration), plainKey(.current))
      if plain.exists, !isSealed(.current), (try? machineKey.loadLoaded(&room.compared.unsealed.key)) == true,
        !room.compared.unsealed.key.equals(room.current.unsealed.key)
      {
        log(Fault(.warnOtherKey, path: plain.path))
      }
      _ = try reviewKey(room) { log($0) }
      throw error
    }
    return try reviewKey(room) { log($0) }
  }

  /// Tells what should be different about a key that was read and can be used.
  ///
  /// - Parameters:
  ///   - room: holds it as the current one.
  ///   - tell: gets what should be different.
  @inline(never)
  func reviewKey(_ room: KeyRoom, _ tell: (Fault) -> Void) throws(Fault) -> KeyForm {
    let left = try leftToRotate(&room.next.unsealed)
    if let left {
      if left == 0 || !isLoadedTwice(room) { tell(Fault(.warnOldKey, number: left)) }
    } else {
      for file in leftKeys where file.isOldLeft {
        tell(Fault(.warnLeftKey, path: file.path + Bytes(text: ".gone")))
      }
    }
    if configuration.isUsual, isSwappable() { tell(Fault(.warnSwappable, path: loadedKey(.current).path)) }
    let (plain, sealed) = (plainKey(.current), sealedKey(.current))
    guard isSealed(.current) else { return .plain(plain.path) }
    let content = try? sealedContent(.current)
    let pcrs = content.flatMap { SealedKey.pcrs($0) }
    // During a rotation, nothing else is reported.
    if left != nil { return plain.exists ? .plain(plain.path) : .sealed(sealed.path, pcrs: pcrs) }
    let isPassing = pcrs == SealedKey.debugPCR && !SealedKey.isBoundToZero(content ?? [])
    do throws(Fault) {
      try openSealed(&room.compared.unsealed.key, .current)
      if !room.compared.unsealed.key.equals(room.current.unsealed.key) {
        tell(Fault(.warnOtherKey, path: sealed.path))
      }
      if isPassing { tell(Fault(.warnPassingPCR, path: sealed.path)) }
    } catch {
      if error.keyProblem == .keyLocked {
        tell(Fault(.warnKeyLocked, path: sealed.path))
      } else if pcrs == SealedKey.debugPCR, isPassing || error.saysPolicyFailed {
        tell(Fault(.warnPassingPCR, path: sealed.path))
      } else if error.keyProblem == .keyClosed {
        tell(Fault(.warnKeyClosed, path: sealed.path, name: error.name))
      } else {
        tell(error)
      }
    }
    if plain.exists {
      tell(Fault(.warnTwoKeys, path: plain.path))
      return .plain(plain.path)
    }
    return .sealed(sealed.path, pcrs: pcrs)
  }

  func enrolledCount() throws(Fault) -> UInt64 {
    let store = try Store.open(configuration)
    var count: UInt64 = 0
    for uid in try store.uids() {
      // A record that can't be read may hold one.
      guard let reading = try read(store, uid) else { continue }
      if reading.record?.state != .removed { count += 1 }
    }
    return count
  }
}

extension Fault {
  /// What systemd-creds said of a TPM whose PCRs are others than they were: 252 and 257 alike.
  fileprivate var saysPolicyFailed: Bool {
    let sign = Bytes(text: "Operation not permitted")
    return name.indices.contains { name[$0...].starts(with: sign) }
  }
}

extension MachineKey {
  /// - Throws: a fault if the helper, which runs as the service account, can't read it.
  func checkServiceReads() throws(Fault) {
    guard configuration.access == .root, let service = serviceAccount() else { return }
    let isLoaded = configuration.isUsual && (try? FileStatus.of(path)) == nil
    let path = isLoaded ? KeyPlaces.loaded : path
    let file = try open()
    let status: FileStatus
    do throws(Errno) { status = try file.status() } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    guard status.mode & 0o040 != 0, status.group == service.gid else {
      throw Fault(.keyNotReadable, path: path)
    }
  }

  /// Makes a new key's file, which appears whole under its name; an error if there is one already.
  func create(_ sodium: Sodium) throws(Fault) {
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    secrets.unsealed.key.makeUp(sodium)
    try KeyFile(path, configuration.access).create(secrets.unsealed.key)
  }
}
