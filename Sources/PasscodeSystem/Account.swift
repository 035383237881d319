internal import CSystem

/// An account of the system's user database.
public struct Account: Equatable, Sendable {
  public let uid: UInt32
  public let gid: UInt32
  public let name: [UInt8]

  public init(uid: UInt32, gid: UInt32, name: [UInt8]) {
    self.uid = uid
    self.gid = gid
    self.name = name
  }
}

/// What came of looking an account up.
public enum AccountLookup: Equatable, Sendable {
  case found(Account)
  case unknown
  case failed(Errno)
}

extension Account {
  /// Looks an account up by its name. The corresponding C function is `getpwnam_r`.
  @inline(never)
  public static func named(_ name: [UInt8]) -> AccountLookup {
    lookUp(withNUL(name), .max)
  }

  /// By uid; where several names share it, the database's first. The corresponding C function is `getpwuid_r`.
  public static func numbered(_ uid: UInt32) -> AccountLookup {
    lookUp([], uid)
  }

  @inline(never)
  private static func lookUp(_ name: [UInt8], _ uid: UInt32) -> AccountLookup {
    var (number, group) = (uid, UInt32.max)
    var found = [UInt8](repeating: 0, count: 256)
    // SAFETY: the name ends in NUL or is none; a name of at most 255 bytes and a NUL are written.
    let error = unsafe cs_find_account(name.isEmpty ? nil : name, &number, &group, &found, found.count)
    switch error {
    case 0: return .found(Account(uid: number, gid: group, name: [UInt8](found.prefix { $0 != 0 })))
    // Some sources of accounts say "no such one" by an error (getpwnam(3), "ERRORS").
    case -1, ENOENT, ESRCH: return .unknown
    default: return .failed(Errno(error))
    }
  }
}

extension Account {
  /// The account's GECOS field and home directory, for programs with one thread (`getpwuid`).
  public func details() -> (gecos: [UInt8], home: [UInt8]) {
    var gecos = [UInt8](repeating: 0, count: 1_024)
    var home = gecos
    // SAFETY: both have so many bytes, and get a NUL.
    unsafe cs_account_details(uid, &gecos, &home, gecos.count)
    return ([UInt8](gecos.prefix { $0 != 0 }), [UInt8](home.prefix { $0 != 0 }))
  }
}

/// The unprivileged account that owns the store and that the helper becomes; nil where the package made none.
@inline(never)
public func serviceAccount() -> Account? {
  guard case .found(let account) = Account.named(Installed.account) else { return nil }
  return account
}

/// Whether the uid is the service account's. Where it is, the database is asked once a process: it owns what is opened for
/// every attempt.
public func isServiceAccount(_ uid: UInt32) -> Bool {
  if uid != .max, uid == cs_kept_service() { return true }
  guard uid == serviceAccount()?.uid else { return false }
  cs_keep_service(uid)
  return true
}
