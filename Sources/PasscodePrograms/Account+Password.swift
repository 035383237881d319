internal import CSystem
public import PasscodeSystem

extension Account {
  /// Whether the shadow database says that nobody can prove this account's password: it is empty, or locked. false also where
  /// the database doesn't know it, as with LDAP. For root. The corresponding C function is `getspnam_r`.
  public var lacksPassword: Bool {
    // SAFETY: the name ends in NUL.
    unsafe cs_has_password(withNUL(name)) == 0
  }

  /// The first one of which `lacksPassword` is true, and a condition as well; nil: there is none. One pass over the shadow
  /// database. For programs with one thread. The corresponding C function is `getspent`.
  public static func firstWithoutPassword(where fits: (Account) -> Bool) -> Account? {
    setspent()
    defer { endspent() }
    // SAFETY: an entry is valid until the next getspent; its name is copied before.
    while let entry = unsafe getspent() {
      let first = unsafe UInt8(bitPattern: entry.pointee.sp_pwdp.pointee)
      guard first == 0 || first == UInt8(ascii: "!") || first == UInt8(ascii: "*") else { continue }
      let name = unsafe bytes(entry.pointee.sp_namp)
      if case .found(let account) = Account.named(name), fits(account) { return account }
    }
    return nil
  }
}
