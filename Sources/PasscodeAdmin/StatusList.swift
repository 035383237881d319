public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

extension Vault {
  /// Everybody who has a record with a passcode, or one that can't be used (said in the log).
  public func list() throws(Fault) -> StatusList {
    let store = try Store.open(configuration)
    return StatusList(self, store, try store.uids())
  }

  /// A record without its lock, and without a look at its older copy; nil: there is none.
  @inline(never)
  func read(_ store: Store, _ uid: UInt32) throws(Fault) -> Reading? {
    try read(store, uid, { recordCodec.latest($0) })
  }

  /// The uids that have a record, in ascending order; of a passcode that was removed, too.
  public func recordedUIDs() throws(Fault) -> [UInt32] {
    try Store.open(configuration).uids()
  }
}

/// The statuses of many accounts, in the order of their uids.
///
/// The accounts of the uids are looked up in portions: those of all users could take too much memory. A portion is a
/// sequence of parts; a copy of this process can tell every other one (`passcode list`).
public struct StatusList: ~Copyable {
  /// Records of a portion, and of a part.
  private static let most = 1 << 17
  private static let part = 256

  private let vault: Vault
  private let store: Store
  private let uids: [UInt32]
  /// The accounts of the uids from `first` on.
  private var accounts = ManyAccounts()
  private var first = 0
  private var lengths: LengthReader
  private var place = 0

  // One that can't fail: see `DirectLogin`.
  fileprivate init(_ vault: Vault, _ store: Store, _ uids: [UInt32]) {
    self.vault = vault
    self.store = store
    self.uids = uids
    lengths = LengthReader(vault)
  }

  /// Looks up the accounts of the next portion.
  ///
  /// - Returns: how many parts it has; 0: that was all.
  public mutating func nextPortion() -> Int {
    first = place
    // Two portions are never there at the same time.
    accounts = ManyAccounts()
    guard place < uids.count else { return 0 }
    accounts = ManyAccounts.find([UInt32](uids[first..<min(first + StatusList.most, uids.count)])) {
      passNamesEveryAccount(nsswitch: (try? readKernelFile(Bytes(text: "/etc/nsswitch.conf"))) ?? [])
    }
    return (accounts.count + StatusList.part - 1) / StatusList.part
  }

  /// Tells the next part of the portion.
  public mutating func tellPart(_ body: (Status) -> Void) throws(Fault) {
    let end = min(place + StatusList.part, first + accounts.count)
    while place < end {
      place += 1
      if let status = try status(uids[place - 1], accounts[place - 1 - first]) { body(status) }
    }
  }

  /// Leaves out the next part of the list, which the other process tells.
  public mutating func skipPart() {
    place = min(place + StatusList.part, first + accounts.count)
  }

  /// In a copy of this process, before it goes on: the key that it has, too, must be in locked memory.
  public mutating func lockAgain() {
    lengths.lockAgain()
  }

  /// nil: nothing to tell.
  private mutating func status(_ uid: UInt32, _ known: Account?) throws(Fault) -> Status? {
    let record: Record?
    do throws(Fault) {
      guard let reading = try vault.read(store, uid) else { return nil }
      record = reading.record
    } catch {
      // One file ends no list.
      vault.log(error)
      record = nil
    }
    // One that is gone has the record's name, or none.
    let name = record?.name ?? []
    let account = known ?? Account(uid: uid, gid: uid, name: name)
    guard let record else { return Status(account, HelperStatus(.corrupt, isEnrolled: true)) }
    guard record.state != .removed else { return nil }
    if name == account.name {
      return try vault.status(account, record, length: lengths.length(record, vault))
    }
    vault.note(.otherName, account)
    return nil
  }
}

/// The machine key for as many records as are asked about; where there is none, lengths aren't told.
private struct LengthReader: ~Copyable {
  private var secrets: Secrets?

  init(_ vault: Vault) {
    guard var secrets = Secrets(vault.sodium),
      (try? MachineKey(configuration: vault.configuration).load(&secrets.unsealed.key)) != nil
    else { return }
    self.secrets = consume secrets
  }

  mutating func lockAgain() {
    guard var secrets = secrets.take() else { return }
    secrets.lockAgain()
    self.secrets = consume secrets
  }

  mutating func length(_ record: Record, _ vault: Vault) -> Int? {
    guard var secrets = secrets.take() else { return nil }
    let digits = (try? vault.openCredential(record, &secrets.unsealed))?.digits
    self.secrets = consume secrets
    return digits
  }
}
