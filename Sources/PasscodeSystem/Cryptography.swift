internal import CSodium
internal import CSystem
internal import PasscodeBytes

/// Lengths that the record's and the key's formats are made of.
public enum Length {
  public static let salt = 16
  public static let hash = 32
  public static let key = 32
  public static let credential = 61
  /// XChaCha20-Poly1305's nonce and tag, which sealing adds.
  public static let nonce = 24
  public static let tag = 16
  /// A sealed credential, with both.
  public static let sealed = nonce + credential + tag
}

/// So many random bytes. The corresponding C function is `randombytes_buf`.
public func randomBytes(_ count: Int, _ sodium: Sodium) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  unsafe randombytes_buf(&bytes, count)
  return bytes
}

/// The BLAKE2b-256 hash of a message. The corresponding C function is `crypto_generichash`.
public func blake2b(_ message: ArraySlice<UInt8>) -> [UInt8] {
  var hash = [UInt8](repeating: 0, count: Length.hash)
  // SAFETY: both buffers come with their lengths.
  unsafe message.withUnsafeBufferPointer { message in
    _ = unsafe crypto_generichash(&hash, hash.count, message.baseAddress, UInt64(message.count), nil, 0)
  }
  return hash
}

/// Whether all these bytes are 0; not in constant time. The corresponding C function is `memcmp`.
public func isZero(_ bytes: ArraySlice<UInt8>) -> Bool {
  unsafe bytes.withUnsafeBufferPointer { unsafe cs_is_zero($0.baseAddress, $0.count) != 0 }
}

/// Whether two digests are the same, in constant time. The corresponding C function is `sodium_memcmp`.
public func equalInConstantTime(_ one: [UInt8], _ two: [UInt8]) -> Bool {
  unsafe one.count == two.count && sodium_memcmp(one, two, one.count) == 0
}

extension Digest {
  /// Argon2id of a passcode (RFC 9106; the corresponding C function is `crypto_pwhash`).
  ///
  /// - Parameters:
  ///   - credential: its beginning is the salt.
  ///   - operations: passes, at least 1.
  ///   - memory: bytes, at least 8,192.
  /// - Returns: false when it could not be completed (no memory); then this says nothing.
  @inline(never)
  public mutating func hash(
    _ passcode: borrowing Passcode, _ credential: borrowing OpenedCredential, operations: UInt64,
    memory: UInt64
  ) -> Bool {
    unsafe sodium_memzero(start, Length.hash)
    let length = passcode.count
    let salt = unsafe credential.start
    // SAFETY: there is room for Length.hash bytes, the passcode has `length`, the salt is within the credential.
    let result = unsafe passcode.start.withMemoryRebound(to: CChar.self, capacity: length) { code in
      unsafe crypto_pwhash(
        start, UInt64(Length.hash), code, UInt64(length), salt, operations, Int(memory),
        crypto_pwhash_ALG_ARGON2ID13)
    }
    // libsodium leaves its output on the stack below this frame.
    sodium_stackzero(16_384)
    return result == 0
  }

  /// Whether this is the credential's hash, in constant time (`sodium_memcmp`).
  public func matches(_ credential: borrowing OpenedCredential) -> Bool {
    // SAFETY: both have Length.hash bytes.
    unsafe sodium_memcmp(start, credential.start + OpenedCredential.hashOffset, Length.hash) == 0
  }

  /// BLAKE2b-256 of a context, a credential's salt and a passcode under the machine key; put together here, and wiped.
  /// The corresponding C function is `crypto_generichash`.
  ///
  /// - Returns: nil if they have more than 112 bytes together.
  public mutating func keyed(
    _ key: borrowing SecretKey, _ context: [UInt8], _ credential: borrowing OpenedCredential,
    _ passcode: borrowing Passcode
  ) -> [UInt8]? {
    let before = context.count + Length.salt
    let length = before + passcode.count
    guard length <= Digest.capacity else { return nil }
    // SAFETY: there is room for `length` bytes, by the line above; the salt is within the credential, and the key has
    // Length.key bytes.
    unsafe cs_copy(start, context, context.count)
    unsafe cs_copy(start + context.count, credential.start, Length.salt)
    unsafe cs_copy(start + before, passcode.start, passcode.count)
    var digest = [UInt8](repeating: 0, count: Length.hash)
    unsafe crypto_generichash(&digest, digest.count, start, UInt64(length), key.start, Length.key)
    unsafe sodium_memzero(start, Digest.capacity)
    return digest
  }
}

extension SecretKey {
  /// What a key that was derived from the machine key is for. The raw values are part of the formats.
  public enum Purpose: UInt64, Sendable {
    /// Sealing credentials in records.
    case sealing = 1
    /// The digest of the wrong passcode that was typed last.
    case digests = 2
  }

  /// Becomes the key for one purpose: BLAKE2b-256 keyed with the machine key, the purpose as its salt, and `passcode` as its
  /// personalisation. The corresponding C function is `crypto_kdf_derive_from_key`.
  @inline(never)
  public mutating func derive(_ purpose: Purpose, from key: borrowing SecretKey) {
    // SAFETY: both have Length.key bytes, and the context has the 8 that libsodium reads.
    _ = unsafe withCString(Bytes(text: "passcode")) {
      unsafe crypto_kdf_derive_from_key(start, Length.key, purpose.rawValue, $0, key.start)
    }
    // libsodium's working copies lie below this frame.
    sodium_stackzero(16_384)
  }
}

extension OpenedCredential {
  /// Seals the credential with XChaCha20-Poly1305.
  ///
  /// - Parameter associated: what the sealed bytes are bound to; not kept in them.
  /// - Returns: nonce, ciphertext and tag.
  public func seal(_ key: borrowing SecretKey, associated: [UInt8], _ sodium: Sodium) -> [UInt8] {
    var result = randomBytes(Length.nonce, sodium)
    var sealed = [UInt8](repeating: 0, count: Length.credential + Length.tag)
    // SAFETY: the output has room for the tag, every buffer comes with its length, the key has Length.key bytes.
    unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, start, UInt64(Length.credential), associated, UInt64(associated.count), nil, result,
      key.start)
    result += sealed
    return result
  }

  /// Opens what `seal` made; false if anything about it is not as it was sealed.
  public mutating func open(_ sealed: [UInt8], _ key: borrowing SecretKey, associated: [UInt8]) -> Bool {
    guard sealed.count == Length.sealed else { return false }
    // SAFETY: after the nonce there are, by the line above, Length.credential (for which there is room) + Length.tag bytes.
    return unsafe sealed.withUnsafeBufferPointer { sealed in
      guard let nonce = sealed.baseAddress else { return false }
      return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
        start, nil, nil, nonce + Length.nonce, UInt64(sealed.count - Length.nonce), associated,
        UInt64(associated.count), nonce, key.start) == 0
    }
  }
}
