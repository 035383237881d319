public import PasscodePolicy
public import PasscodeSystem

/// A pause of a fleet's account, on this workstation alone: the empty file <store>/<uid>.paused. The servers don't know it
/// (`VerifierClient`).
extension Configuration {
  /// Whether the account is paused here.
  ///
  /// - Throws: a fault if the store can't be read, or isn't to be trusted. Where there is none, nobody is paused.
  public func isPausedHere(_ account: Account) throws(Fault) -> Bool {
    let store: Store
    do throws(Fault) { store = try Store.open(self) } catch {
      if error.reason == .noStore { return false }
      throw error
    }
    let name = Configuration.pauseName(account)
    do throws(Errno) { _ = try store.directory.open(name, .read) } catch {
      if error == .noEntry { return false }
      throw store.fault(name, error)
    }
    return true
  }

  package static func pauseName(_ account: Account) -> Bytes {
    decimalDigits(UInt64(account.uid)) + pauseEnd
  }

  /// How the name of such a file ends.
  package static var pauseEnd: Bytes { Bytes(text: ".paused") }
}

extension Vault {
  /// - Returns: whether that changed anything.
  package func pauseHere(
    _ account: Account, _ paused: Bool, then done: (() -> Void)?
  ) throws(Fault) -> Bool {
    let changes = try configuration.isPausedHere(account) != paused
    guard changes || paused else { return false }
    let store = try Store.open(configuration)
    let name = Configuration.pauseName(account)
    if paused { _ = try store.openShared(name, content: []) }
    do throws(Errno) {
      if !paused { try store.directory.remove(name) }
      // Also where it is paused: a pause that was cut off before this is finished by repeating it.
      try store.directory.sync()
    } catch {
      throw store.fault(name, error)
    }
    if changes { done?() }
    return changes
  }
}
