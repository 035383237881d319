package import PasscodePolicy
package import PasscodeSystem

/// The hash of a passcode with its salt and cost, and the form in which it is sealed.
///
/// The plain form, an `OpenedCredential` of 61 bytes, numbers little-endian:
///
///     offset 0    salt           16 bytes
///     offset 16   operations      4 bytes
///     offset 20   memory          8 bytes     in bytes
///     offset 28   length          1 byte      4 or 6; 8 for a one-time code
///     offset 29   hash           32 bytes     Argon2id of the digits with this salt and cost
///
/// The sealed form, version 2:
///
///     offset 0    version         1 byte      2
///     offset 1    nonce          24 bytes
///     offset 25   sealed         77 bytes     XChaCha20-Poly1305 under the key for sealing, which is derived from the machine
///                                             key (`SecretKey.derive`)
///
/// with these associated data, so that a record can be neither forged nor moved to another user:
///
///     version     1 byte          2
///     uid         4 bytes         little-endian
///     name        the rest        the record's
///
/// Version 1 has no version before the nonce, 1 in the associated data, and is under the machine key itself. It opens, and
/// whatever seals a credential again makes version 2 of it.                              test_credential_version.py
///
/// Salt and hash stay in the `OpenedCredential`.
package struct Credential {
  package let cost: Options.Cost
  /// How many digits the passcode has.
  package let digits: Int

  /// What it is known of: which is which, the associated data say.
  package enum Subject: Equatable {
    case passcode, oneTimeCode
  }

  /// Reads the opened form; nil if a number in it is out of range.
  package init?(_ opened: borrowing OpenedCredential, of subject: Subject = .passcode) {
    let (operations, memory, digits) = opened.read { bytes in
      (Credential.number(bytes, 16, 4), Credential.number(bytes, 20, 8), Int(bytes[28]))
    }
    guard Options.Cost.operationsRange.contains(operations), Options.Cost.memoryRange.contains(memory),
      subject == .passcode ? Answer.isLength(digits) : digits == OneTimeCode.length
    else { return nil }
    cost = Options.Cost(operations: operations, memory: memory)
    self.digits = digits
  }

  /// Hashes the passcode into a new credential.
  ///
  /// - Returns: false when hashing could not be completed; there is no credential then.
  package static func make(
    _ passcode: borrowing Passcode, _ unsealed: inout Unsealed, _ cost: Options.Cost, _ sodium: Sodium,
    of subject: Subject = .passcode
  ) -> Bool {
    unsealed.credential.makeSalt(sodium)
    guard
      unsealed.digest.hash(passcode, unsealed.credential, operations: cost.operations, memory: cost.memory)
    else { return false }
    var middle = littleEndian(cost.operations, 4)
    middle.append(cost.memory, bytes: 8)
    middle.append(UInt64(passcode.count), bytes: 1)
    // Read again: what could never be opened isn't kept.
    return unsealed.credential.fill(middle, unsealed.digest)
      && Credential(unsealed.credential, of: subject) != nil
  }

  /// Hashes the passcode with this credential's cost.
  ///
  /// - Parameter unsealed: has the credential that this was read from.
  /// - Returns: whether it is the enrolled one; nil when hashing could not be completed.
  package func matches(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Bool? {
    guard
      unsealed.digest.hash(passcode, unsealed.credential, operations: cost.operations, memory: cost.memory)
    else { return nil }
    return unsealed.digest.matches(unsealed.credential)
  }

  private static let version: UInt8 = 2

  package static func seal(_ unsealed: inout Unsealed, _ record: Record, _ sodium: Sodium) -> Bytes {
    unsealed.subkey.derive(.sealing, from: unsealed.key)
    return sealed(unsealed, record, sodium)
  }

  /// - Precondition: the subkey was derived for sealing.
  package static func sealed(_ unsealed: borrowing Unsealed, _ record: Record, _ sodium: Sodium) -> Bytes {
    [version] + unsealed.credential.seal(unsealed.subkey, associated: associated(record, version), sodium)
  }

  /// Opens what is sealed in the record; false if it was changed, or sealed under another key or for another user.
  @inline(never)
  package static func open(_ record: Record, _ unsealed: inout Unsealed) -> Bool {
    guard case .enrolled(let sealed) = record.state else { return false }
    if sealed.count == Length.sealed {
      return unsealed.credential.open(sealed, unsealed.key, associated: associated(record, 1))
    }
    guard sealed.first == version else { return false }
    unsealed.subkey.derive(.sealing, from: unsealed.key)
    return unsealed.credential.open(
      Bytes(sealed.dropFirst()), unsealed.subkey, associated: associated(record, version))
  }

  private static func associated(_ record: Record, _ version: UInt8) -> Bytes {
    var bytes: Bytes = [version]
    bytes.append(UInt64(record.uid), bytes: 4)
    return bytes + record.name
  }

  private static func number(_ bytes: Span<UInt8>, _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64($1 * 8) }
  }
}

extension Vault {
  /// What terms and ledger say of a record now.
  func review(_ record: Record) throws(Fault) -> Record.Review {
    record.review(policy.lockout, now: try clock.now(), wall: clock.wall())
  }

  /// What terms and ledger say of a locked record now; what that corrects is on the device when this returns.
  @inline(never)
  func reviewDurably(_ record: inout LockedRecord) throws(Fault) -> Record.Review {
    let review = try review(record.current)
    if let correction = review.correction { try write(correction, to: &record) }
    return review
  }

  /// A process that waited for its slot, or was stopped, may ask this long after the ledger was read (MUST 13).
  @inline(never)
  func hasExpired(_ record: inout LockedRecord) throws(Fault) -> Bool {
    guard record.current.terms.expiry > 0 else { return false }
    return try reviewDurably(&record).isExpired
  }

  @inline(never)
  func write(_ next: Record, to record: inout LockedRecord) throws(Fault) {
    do throws(Errno) { try record.write(next) } catch { throw unwritten(next.uid, error) }
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
}
