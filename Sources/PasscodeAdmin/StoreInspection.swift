public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

/// What is wrong with a store, its records or its key. `path` is the file's.
public enum StoreFinding: Sendable {
  case fault(Fault)
  /// Others than its owner can list or enter the store, or a group can write to a record.
  case openStore(Bytes)
  /// Fewer than `Vault.leastRoom` bytes are free there, or fewer than `Vault.leastFiles` files can be created.
  case lowSpace(Bytes, bytes: UInt64)
  case fewFiles(Bytes, UInt64)
  case readOnly(Bytes)
  /// A file that is neither a record, the file of the hashing slots nor the pause of a fleet's account.
  case stray(Bytes)
  /// One copy of a record can't be read: a write was interrupted.
  case damagedCopy(Bytes)
  /// A record whose uid has no account.
  case orphan(Bytes, uid: UInt32)
  /// The uid belongs to an account of another name than the record was made for.
  case reused(Bytes, was: Bytes, now: Bytes)
  /// The uid belongs to another account, and the one that the record was made for has another uid by now. Nobody can use it.
  case leftover(Bytes, uid: UInt32, was: Bytes)
  /// The key is sealed, but someone with the disk can put old records back: the store's disk isn't encrypted, and a passcode
  /// may be the first login of a boot.
  case rollBack(Bytes)
}

extension Vault {
  /// Bytes; a record has 8 KiB.
  public static let leastRoom: UInt64 = 1 << 20
  public static let leastFiles: UInt64 = 100

  /// Checks that a login and the helper can use the key, and that a sealed one opens: that may take the TPM seconds. Writes
  /// nothing. For root, or a person's own store.
  public func inspectKey(_ tell: (StoreFinding) -> Void) {
    do throws(Fault) {
      guard let room = KeyRoom(sodium) else { throw Fault(.noMemory) }
      try use(.current, &room.current.unsealed.key)
      try checkIsOnDisk()
      try MachineKey(configuration: configuration).checkServiceReads()
      _ = try reviewKey(room) { tell(.fault($0)) }
    } catch {
      tell(.fault(error))
    }
  }

  /// Whether the TPM has sealed a key, or the next one.
  public var hasSealedKey: Bool { isSealed(.current) || isSealed(.next) }

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

  /// Inspects the store and every file in it. Writes, creates and locks nothing. For root, or a person's own store.
  public func inspectStore(_ tell: (StoreFinding) -> Void) {
    do throws(Fault) {
      let store = try Store.open(configuration)
      inspectFolder(store, tell)
      try inspectStrays(store, tell)
      try inspectRecords(store, tell)
    } catch {
      tell(.fault(error))
    }
  }

  private func inspectFolder(_ store: Store, _ tell: (StoreFinding) -> Void) {
    let mode = (try? FileStatus.of(policy.store))?.mode ?? 0
    if mode & 0o077 != 0 || (try? store.isSharedWithGroup()) == true { tell(.openStore(policy.store)) }
    guard let system = try? FileSystem.of(policy.store) else { return }
    if system.isReadOnly { return tell(.readOnly(policy.store)) }
    if system.freeBytes < Vault.leastRoom { tell(.lowSpace(policy.store, bytes: system.freeBytes)) }
    if let files = system.freeFiles, files < Vault.leastFiles { tell(.fewFiles(policy.store, files)) }
    // Where the key isn't sealed, such a person has that, too.
    if hasSealedKey, configuration.options.door.allowsFirstLogin,
      isOnEncryptedDevice(policy.store) == false
    {
      tell(.rollBack(policy.store))
    }
  }

  private func inspectStrays(_ store: Store, _ tell: (StoreFinding) -> Void) throws(Fault) {
    for name in try store.names() where name != HashingSlots.name {
      if let number = decimal(name[...]), number < UInt64(UInt32.max) { continue }
      if isPause(name) { continue }
      tell(.stray(Text("\(policy.store)/\(name)").bytes))
    }
  }

  private func isPause(_ name: Bytes) -> Bool {
    let end = Configuration.pauseEnd
    guard name.count > end.count, name.suffix(end.count) == end[...],
      let number = decimal(name.dropLast(end.count)), number < UInt64(UInt32.max)
    else { return false }
    // It would be the next one's who gets the uid of a deleted account.
    if case .unknown = Account.numbered(UInt32(number)) { return false }
    return policy.asksVerifier(UInt32(number))
  }

  private func inspectRecords(_ store: Store, _ tell: (StoreFinding) -> Void) throws(Fault) {
    let uids = try store.uids()
    let accounts = ManyAccounts.find(uids) {
      passNamesEveryAccount(nsswitch: (try? readKernelFile(Bytes(text: "/etc/nsswitch.conf"))) ?? [])
    }
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    let hasKey =
      (try? MachineKey(configuration: configuration).load(&secrets.unsealed.key)) != nil
    for place in uids.indices {
      do throws(Fault) {
        guard let found = try contents(store, uids[place], tell) else { continue }
        try inspect(found.record, accounts[place], tell)
        if hasKey, found.record.state != .removed {
          _ = try openCredential(found.record, &secrets.unsealed)
        }
      } catch {
        tell(.fault(error))
      }
    }
  }

  /// The content of a record's file; nil: the file is gone. If a copy is damaged, it is read up to five times: a login
  /// may be writing it, and nothing is locked here.
  private func contents(
    _ store: Store, _ uid: UInt32, _ tell: (StoreFinding) -> Void
  ) throws(Fault) -> RecordCodec.Contents? {
    var found: RecordCodec.Contents?
    for _ in 0..<5 {
      guard let file = try store.open(uid, .read) else { return nil }
      let size = try store.check(file, uid).size
      let content = size == RecordCodec.fileLength ? (try? file.read(size, at: 0)) ?? [] : []
      if let version = recordCodec.laterVersion(content) {
        throw store.fault(uid, .laterVersion, number: version)
      }
      found = recordCodec.read(content)
      if let found, !found.damaged, found.record.uid == uid { return found }
      clock.sleep(20)
    }
    guard let found, found.record.uid == uid else { throw corrupt(owner(uid)) }
    tell(.damagedCopy(recordPath(uid)))
    return found
  }

  private func inspect(_ record: Record, _ known: Account?, _ tell: (StoreFinding) -> Void) throws(Fault) {
    guard record.state != .removed || record.disabled else { return }
    let path = recordPath(record.uid)
    switch known.map({ AccountLookup.found($0) }) ?? Account.numbered(record.uid) {
    case .unknown: tell(.orphan(path, uid: record.uid))
    case .failed(let error): throw Fault(.numberLookup, number: UInt64(record.uid), error: error.code)
    case .found(let account):
      // The uid may have several names.
      if account.name == record.name { return }
      guard case .found(let other) = Account.named(record.name) else {
        return tell(.reused(path, was: record.name, now: account.name))
      }
      if other.uid != record.uid { tell(.leftover(path, uid: record.uid, was: record.name)) }
    }
  }
}

extension Vault {
  /// Whether the account has a passcode that isn't disabled; nil: not known. Writes nothing.
  public func hasPasscode(_ account: Account) -> Bool? {
    guard let store = try? Store.open(configuration) else { return nil }
    do throws(Fault) {
      guard let record = try contents(store, account.uid, { _ in })?.record else { return false }
      return record.state != .removed && !record.disabled && record.name == account.name
    } catch {
      return nil
    }
  }
}
