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
/// It is sealed with XChaCha20-Poly1305 under the machine key; associated data, so that a record can be
/// neither forged nor moved to another user:
///
///     version     1 byte          1
///     uid         4 bytes         little-endian
///     name        the rest        the record's
///
/// Salt and hash stay in the `OpenedCredential`.
package struct Credential {
  package let cost: Options.Cost
  /// How many digits the passcode has.
  let digits: Int

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
    let middle =
      littleEndian(cost.operations, 4) + littleEndian(cost.memory, 8)
      + littleEndian(UInt64(passcode.count), 1)
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

  package static func seal(_ unsealed: borrowing Unsealed, _ record: Record, _ sodium: Sodium) -> Bytes {
    seal(unsealed, under: unsealed, record, sodium)
  }

  /// Seals what one allocation has opened, under the key that another one holds.
  package static func seal(
    _ unsealed: borrowing Unsealed, under other: borrowing Unsealed, _ record: Record, _ sodium: Sodium
  ) -> Bytes {
    unsealed.credential.seal(other.key, associated: associated(record), sodium)
  }

  /// Opens what is sealed in the record; false if it was sealed under another key or for another user, or was
  /// changed since.
  @inline(never)
  package static func open(_ record: Record, _ unsealed: inout Unsealed) -> Bool {
    guard case .enrolled(let sealed) = record.state else { return false }
    return unsealed.credential.open(sealed, unsealed.key, associated: associated(record))
  }

  private static func associated(_ record: Record) -> Bytes {
    littleEndian(1, 1) + littleEndian(UInt64(record.uid), 4) + record.name
  }

  private static func number(_ bytes: Span<UInt8>, _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64($1 * 8) }
  }
}
