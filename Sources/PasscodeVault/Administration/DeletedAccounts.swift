public import PasscodePolicy
public import PasscodeSystem

// Deleting an account leaves its record. If the account is made again with the same name and number, it is the same
// account for all that anybody can tell: so the record has to go with the first one.  test_deleted.py

extension Vault {
  /// The accounts that are gone and have a record: made for that name, or of that number. For root.
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

  /// - Parameter word: the name of no account today, or a number.
  /// - Throws: a fault if it can't be told.
  func isDeleted(_ uid: UInt32, _ word: Bytes, _ record: Record?) throws(Fault) -> Bool {
    let isNamed = record?.name == word
    guard isNamed || decimal(word[...]) == UInt64(uid) else { return false }
    switch Account.numbered(uid) {
    case .unknown: return true
    case .found(let today): return isNamed && today.name != word
    case .failed(let error):
      throw Fault(.numberLookup, number: UInt64(uid), error: error.code)
    }
  }
}
