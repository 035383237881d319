internal import CSystem
public import PasscodeSystem

/// The accounts of many uids, found in one pass through the user database: a look-up for each would read /etc/passwd
/// as often. For programs with one thread. The corresponding C function is `getpwent`.
///
/// The names are kept one after the other, since an array for each would take three times the memory.
public struct ManyAccounts: ~Copyable {
  private let uids: [UInt32]
  private var gids: [UInt32]
  /// Where a name begins in `names`; `none`: no such account.
  private var starts: [UInt32]
  /// The accounts' names, each with a NUL.
  private var names: [UInt8] = []

  private static let none = UInt32.max

  /// A list of no accounts.
  public init() {
    self.init([])
  }

  private init(_ uids: [UInt32]) {
    self.uids = uids
    gids = [UInt32](repeating: 0, count: uids.count)
    starts = [UInt32](repeating: ManyAccounts.none, count: uids.count)
  }

  /// Not every source of accounts enumerates: what the pass doesn't name is looked up after all, unless it names
  /// everybody.
  ///
  /// - Parameters:
  ///   - uids: in ascending order.
  ///   - namesEverybody: is asked once, and only after a pass.
  public static func find(_ uids: [UInt32], _ namesEverybody: () -> Bool) -> ManyAccounts {
    var accounts = ManyAccounts(uids)
    accounts.find(namesEverybody)
    return accounts
  }

  private mutating func find(_ namesEverybody: () -> Bool) {
    // A few aren't worth the pass.
    if uids.count > 16 {
      pass()
      if namesEverybody() { return }
    }
    for place in uids.indices where starts[place] == ManyAccounts.none {
      if case .found(let account) = Account.numbered(uids[place]) { keep(place, account.gid, account.name) }
    }
  }

  public var count: Int { uids.count }

  /// The account of a uid, by its place in the list; nil: there is none.
  ///
  /// - Precondition: the place is below `count`.
  public subscript(place: Int) -> Account? {
    guard starts[place] != ManyAccounts.none else { return nil }
    let start = Int(starts[place])
    var end = start
    while names[end] != 0 { end += 1 }
    return Account(uid: uids[place], gid: gids[place], name: [UInt8](names[start..<end]))
  }

  private mutating func pass() {
    setpwent()
    // SAFETY: an entry is valid until the next getpwent; its name is copied before.
    while let entry = unsafe getpwent() {
      let uid = unsafe entry.pointee.pw_uid
      let place = place(of: uid)
      // Where several names share a uid, the first one is it.
      guard place < uids.count, uids[place] == uid, starts[place] == ManyAccounts.none else { continue }
      unsafe keep(place, entry.pointee.pw_gid, bytes(entry.pointee.pw_name))
    }
    endpwent()
  }

  private mutating func keep(_ place: Int, _ gid: UInt32, _ name: [UInt8]) {
    // Beyond 4 GiB of names an account has none.
    guard let start = UInt32(exactly: names.count), start != ManyAccounts.none else { return }
    gids[place] = gid
    starts[place] = start
    names += name
    names.append(0)
  }

  /// The first place whose uid isn't below this one.
  private func place(of uid: UInt32) -> Int {
    var places = 0..<uids.count
    while !places.isEmpty {
      let middle = places.lowerBound + places.count / 2
      places = uids[middle] < uid ? middle + 1..<places.upperBound : places.lowerBound..<middle
    }
    return places.lowerBound
  }
}
