internal import CSystem

extension Account {
  /// Whether the shadow database says that nobody can prove this account's password: it is empty, or locked. false also where
  /// the database doesn't know it, as with LDAP. For root. The corresponding C function is `getspnam_r`.
  public var lacksPassword: Bool {
    // SAFETY: the name ends in NUL.
    unsafe cs_has_password(withNUL(name)) == 0
  }
}
