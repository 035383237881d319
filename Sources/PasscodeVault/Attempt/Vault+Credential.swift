package import PasscodePolicy
package import PasscodeSystem

extension Vault {
  /// What terms and ledger say of a record now.
  func review(_ record: Record) throws(Fault) -> Record.Review {
    record.review(policy.lockout, now: try clock.now(), wall: clock.wall())
  }

  /// Opens the sealed credential with the key that was read before; if it doesn't, with the keys as they are now, and
  /// that one stays read: a rotation runs, or has ended since. First the next key: it may be the current one before the
  /// other order would look for it.                                                   test_key_rotation.py
  package func openCredential(_ record: Record, _ unsealed: inout Unsealed) throws(Fault) -> Credential {
    guard
      Credential.open(record, &unsealed) || open(record, .next, &unsealed)
        || open(record, .current, &unsealed),
      let credential = Credential(unsealed.credential)
    else {
      throw Fault(.sealedOtherwise, path: recordPath(record.uid), name: record.name)
    }
    return credential
  }

  @inline(never)
  private func open(
    _ record: Record, _ generation: MachineKey.Generation, _ unsealed: inout Unsealed
  ) -> Bool {
    let key = MachineKey(configuration: configuration)
    return (try? key.load(&unsealed.key, generation)) != nil && Credential.open(record, &unsealed)
  }

  /// Makes a new credential from the passcode, at the configured cost, and seals it into the record.
  ///
  /// - Returns: false when hashing could not be completed; the record is then as it was.
  func reseal(_ record: inout Record, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Bool {
    guard Credential.make(passcode, &unsealed, policy.cost, sodium) else { return false }
    record.state = .enrolled(sealed: Credential.seal(&unsealed, record, sodium))
    return true
  }
}
