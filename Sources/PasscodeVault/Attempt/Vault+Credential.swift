internal import PasscodePolicy
internal import PasscodeSystem

extension Vault {
  /// What time says of a record now.
  func review(_ record: Record) throws(Fault) -> Record.Review {
    record.review(policy.lockout, now: try clock.now(), wall: clock.wall())
  }

  /// Opens the sealed credential with the key that was read before.
  func openCredential(_ record: Record, _ unsealed: inout Unsealed) throws(Fault) -> Credential {
    guard case .enrolled(let sealed) = record.state,
      let credential = Credential.open(sealed, record, &unsealed)
    else {
      throw Fault(.sealedOtherwise, path: recordPath(record.uid), name: record.name)
    }
    return credential
  }

  /// Makes a new credential from the passcode, at the configured cost, and seals it into the record.
  ///
  /// - Returns: false when hashing could not be completed; the record is then as it was.
  func reseal(_ record: inout Record, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Bool {
    guard Credential.make(passcode, &unsealed, policy.cost, sodium) else { return false }
    record.state = .enrolled(sealed: Credential.seal(unsealed, record, sodium))
    return true
  }
}
