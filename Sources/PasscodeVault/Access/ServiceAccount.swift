internal import PasscodePolicy
public import PasscodeSystem

private var name: Bytes { Installed.account }

/// The unprivileged account that owns the store and that the helper becomes; nil where the package made none.
@inline(never)
public func serviceAccount() -> Account? {
  guard case .found(let account) = Account.named(name) else { return nil }
  return account
}

public func isServiceAccount(_ uid: UInt32) -> Bool {
  Account.isService(uid, named: name)
}
