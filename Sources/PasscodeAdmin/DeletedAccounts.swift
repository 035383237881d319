public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

// Deleting an account leaves its record. If the account is made again with the same name and number, it is the same
// account for all that anybody can tell: so the record has to go with the first one. So do notes that last until the next boot
// and are kept by number alone: that the account has logged in, and when its password was proven.  test_deleted.py

extension Vault {
  /// Removes the passcode of a deleted account, and its disabled state. Needs no key. For root.
  ///
  /// - Parameter account: one of `deletedAccounts`.
  /// - Returns: whether there was anything to remove.
  public func removeDeleted(_ account: Account, then done: (() -> Void)? = nil) throws(Fault) -> Bool {
    try carryOut(account, acquire(account), ending: RevocationMark.all, then: done) { record throws(Fault) in
      // Checked again under the lock: the uid may belong to somebody by now.
      guard try isDeleted(account.uid, account.name, record) else { return .notEnrolled }
      if let record, record.state == .removed, !record.disabled { return .leave }
      record = Record(uid: account.uid, name: record?.name ?? account.name, generation: 0)
      return .write
    } ?? false
  }

  /// The accounts that are gone and have a record: made for that name, or of that number. A number also means the record
  /// of an account that has another uid by now, never the one of the account whose uid it is. For root.
  ///
  /// A record that can't be read is said in the log; it ends no search.
  public func deletedAccounts(_ word: Bytes) throws(Fault) -> [Account] {
    let store = try Store.open(configuration)
    var deleted: [Account] = []
    for uid in try store.uids() {
      let record: Record?
      do throws(Fault) { record = try read(store, uid)?.record } catch {
        log(error)
        continue
      }
      guard try isDeleted(uid, word, record) else { continue }
      deleted.append(Account(uid: uid, gid: uid, name: word))
    }
    return deleted
  }

  /// Forgets that accounts which are gone have logged in, or used a passcode or a password, since the machine started: the next
  /// account with such a number has not. For root.
  public func forgetDeletedLogins() {
    guard let folder = try? Descriptor.open(RunFolder.path, .directory) else { return }
    for name in (try? folder.names()) ?? [] {
      guard let dot = name.firstIndex(of: UInt8(ascii: ".")), let uid = decimal(name[..<dot]),
        uid < UInt64(UInt32.max), number(of: name[dot...], among: ".login .proof .use") != nil,
        Account.numbered(UInt32(uid)) == .unknown
      else { continue }
      try? folder.remove(name)
    }
  }

  /// Whether the account of the record's name has another uid than the record.
  private func hasOtherUID(_ record: Record) throws(Fault) -> Bool {
    switch Account.named(record.name) {
    case .found(let account): return account.uid != record.uid
    case .unknown: return false
    case .failed(let error): throw Fault(.accountLookup, error: error.code)
    }
  }

  /// - Parameter word: the name of no account today, or a number.
  /// - Throws: a fault if it can't be told.
  private func isDeleted(_ uid: UInt32, _ word: Bytes, _ record: Record?) throws(Fault) -> Bool {
    let isNamed = record?.name == word
    guard isNamed || decimal(word[...]) == UInt64(uid) else { return false }
    switch Account.numbered(uid) {
    case .unknown: return true
    case .found(let today):
      guard let record, today.name != record.name else { return false }
      if isNamed { return true }
      return try hasOtherUID(record)
    case .failed(let error):
      throw Fault(.numberLookup, number: UInt64(uid), error: error.code)
    }
  }
}
