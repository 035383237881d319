internal import CSodium
internal import CSystem

/// Lengths that the record's and the key's formats are made of.
public enum Length {
  public static let salt = 16
  public static let hash = 32
  public static let key = 32
  /// XChaCha20-Poly1305's nonce and tag, which sealing adds.
  public static let nonce = 24
  public static let tag = 16
}

/// So many random bytes. The corresponding C function is `randombytes_buf`.
public func randomBytes(_ count: Int, _ sodium: Sodium) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  unsafe randombytes_buf(&bytes, count)
  return bytes
}

/// A uniformly random number below `bound`. The corresponding C function is `randombytes_uniform`.
public func randomNumber(below bound: UInt32, _ sodium: Sodium) -> UInt32 {
  randombytes_uniform(bound)
}

/// BLAKE2b-256. The corresponding C function is `crypto_generichash`.
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

extension Secrets {
  /// BLAKE2b-256 of `context` and the field `code`, keyed by the field `key`; put together in the field `line`,
  /// which is wiped. The corresponding C function is `crypto_generichash`.
  ///
  /// - Precondition: the context is at most 256 bytes.
  public mutating func keyedDigest(_ context: [UInt8]) -> [UInt8] {
    let length = min(context.count, 256)
    // SAFETY: `line` has room for 256 bytes and a passcode; the key has Length.key bytes.
    unsafe cs_copy(start(.line), context, length)
    unsafe cs_copy(start(.line) + length, start(.code), count(.code))
    var digest = [UInt8](repeating: 0, count: Length.hash)
    unsafe crypto_generichash(
      &digest, digest.count, start(.line), UInt64(length + count(.code)), start(.key), Length.key)
    wipe(.line)
    return digest
  }

  /// Argon2id of the field `code` into `digest` (RFC 9106; the corresponding C function is `crypto_pwhash`).
  ///
  /// - Parameters:
  ///   - salt: `Length.salt` bytes.
  ///   - operations: passes, at least 1.
  ///   - memory: bytes, at least 8,192.
  /// - Returns: false when it could not be completed (no memory); then `digest` says nothing.
  public mutating func hashCode(salt: [UInt8], operations: UInt64, memory: UInt64) -> Bool {
    guard salt.count == Length.salt else { return false }
    wipe(.digest)
    let length = count(.code)
    // SAFETY: digest has Length.hash bytes, code has `length`, salt was counted above.
    let result = unsafe start(.code).withMemoryRebound(to: CChar.self, capacity: length) { code in
      unsafe crypto_pwhash(
        start(.digest), UInt64(Length.hash), code, UInt64(length), salt, operations, Int(memory),
        crypto_pwhash_ALG_ARGON2ID13)
    }
    return result == 0
  }

  /// Whether `digest` is the hash at `offset` of `credential`, in constant time (`sodium_memcmp`).
  public func digestMatchesCredential(at offset: Int) -> Bool {
    guard offset >= 0, offset + Length.hash <= Field.credential.capacity else { return false }
    // SAFETY: both have Length.hash bytes, by the line above.
    return unsafe sodium_memcmp(start(.digest), start(.credential) + offset, Length.hash) == 0
  }

  /// Copies `digest` into `credential` at `offset`.
  public mutating func copyDigest(toCredentialAt offset: Int) {
    guard offset >= 0, offset + Length.hash <= Field.credential.capacity else { return }
    for index in 0..<Length.hash { unsafe start(.credential)[offset + index] = start(.digest)[index] }
  }

  /// Seals the first `count` bytes of `credential` under `key` with XChaCha20-Poly1305.
  ///
  /// - Parameter associated: what the sealed bytes are bound to; not kept in them.
  /// - Returns: nonce, ciphertext and tag.
  public func seal(credential count: Int, associated: [UInt8], _ sodium: Sodium) -> [UInt8] {
    let nonce = randomBytes(Length.nonce, sodium)
    var sealed = [UInt8](repeating: 0, count: count + Length.tag)
    // SAFETY: the output has room for the tag, every buffer comes with its length, the key has Length.key bytes.
    unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, start(.credential), UInt64(count), associated, UInt64(associated.count), nil, nonce,
      start(.key))
    return nonce + sealed
  }

  /// Opens what `seal` made into `credential`; false if anything about it is not as it was sealed.
  public mutating func open(_ sealed: [UInt8], credential count: Int, associated: [UInt8]) -> Bool {
    guard sealed.count == Length.nonce + count + Length.tag, count <= Field.credential.capacity else {
      return false
    }
    let nonce = [UInt8](sealed.prefix(Length.nonce))
    let text = [UInt8](sealed.dropFirst(Length.nonce))
    // SAFETY: the text has count + Length.tag bytes by the line above, and credential has room for count.
    let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      start(.credential), nil, nil, text, UInt64(text.count), associated, UInt64(associated.count), nonce,
      start(.key))
    return result == 0
  }

  /// Reads `Length.key` bytes of an open file into `key`; false if it is shorter.
  public mutating func readKey(_ file: borrowing Descriptor) throws(Errno) -> Bool {
    // SAFETY: key has Length.key bytes.
    return try unsafe file.read(into: start(.key), count: Length.key)
  }
}
