internal import CSystem

extension Account {
  /// The accounts of many uids, in one pass through the user database: a look-up for each would read /etc/passwd
  /// as often. For programs with one thread. The corresponding C function is `getpwent`.
  ///
  /// Not every source of accounts enumerates: what the pass doesn't name is looked up after all, unless it names
  /// everybody.
  ///
  /// - Parameters:
  ///   - uids: in ascending order.
  ///   - namesEverybody: is asked once, and only after a pass.
  /// - Returns: for each of them what `numbered` finds.
  public static func numbered(_ uids: [UInt32], _ namesEverybody: () -> Bool) -> [Account?] {
    // A few aren't worth the pass.
    guard uids.count > 16 else { return uids.map { found($0) } }
    var accounts = [Account?](repeating: nil, count: uids.count)
    setpwent()
    // SAFETY: an entry is valid until the next getpwent; its name is copied before.
    while let entry = unsafe getpwent() {
      let uid = unsafe entry.pointee.pw_uid
      let place = place(of: uid, in: uids)
      // Where several names share a uid, the first one is it.
      guard place < uids.count, uids[place] == uid, accounts[place] == nil else { continue }
      accounts[place] = unsafe Account(
        uid: uid, gid: entry.pointee.pw_gid, name: bytes(entry.pointee.pw_name))
    }
    endpwent()
    guard !namesEverybody() else { return accounts }
    for place in uids.indices where accounts[place] == nil { accounts[place] = found(uids[place]) }
    return accounts
  }

  private static func found(_ uid: UInt32) -> Account? {
    guard case .found(let account) = numbered(uid) else { return nil }
    return account
  }

  /// The first place whose uid isn't below this one.
  private static func place(of uid: UInt32, in uids: [UInt32]) -> Int {
    var places = 0..<uids.count
    while !places.isEmpty {
      let middle = places.lowerBound + places.count / 2
      places = uids[middle] < uid ? middle + 1..<places.upperBound : places.lowerBound..<middle
    }
    return places.lowerBound
  }
}
