internal import CSystem

extension Account {
  /// The accounts of many uids, in one pass through the user database: a look-up for each would read /etc/passwd
  /// as often. For programs with one thread. The corresponding C function is `getpwent`.
  ///
  /// Directory services often don't enumerate: what the pass doesn't name is looked up after all, unless the
  /// database has no such service.
  ///
  /// - Parameter uids: in ascending order.
  /// - Returns: for each of them what `numbered` finds.
  public static func numbered(_ uids: [UInt32]) -> [Account?] {
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
    guard !passNamesEverybody() else { return accounts }
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

  /// Whether nsswitch.conf(5) names no sources of accounts but /etc/passwd and nss-systemd(8), which enumerate.
  private static func passNamesEverybody() -> Bool {
    guard let text = try? readKernelFile(literal("/etc/nsswitch.conf")) else { return false }
    let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: literal("passwd:")) }
    guard lines.count == 1 else { return false }
    let words = lines[0].dropFirst(7).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    return words.allSatisfy {
      $0.elementsEqual(literal("files")) || $0.elementsEqual(literal("systemd"))
    }
  }
}
