public import PasscodePolicy

/// What gives somebody the right to set, remove or unlock a passcode.
public enum Authority: Equatable, Sendable {
  /// The store can be reached directly: by root, or by a person who has a store of their own.
  case direct
  /// The account's password was proven.
  case password
  /// The old passcode was proven: `DirectLogin.provenMark`. If the credential is another one by now, nothing is done.
  case passcode(Bytes)

  package var provenMark: Bytes? {
    if case .passcode(let mark) = self { return mark }
    return nil
  }
}

extension Vault {
  /// What the record keeps of it; nil: what it says already.
  package func proof(_ authority: Authority) -> Record.Proof? {
    switch authority {
    case .direct: configuration.access == .root ? .root : .unknown
    case .password: .password
    case .passcode: nil
    }
  }
}
