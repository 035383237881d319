internal import CSodium

extension SecretKey {
  /// BLAKE2b-256 of a context that is no secret, under this key. The corresponding C function is `crypto_generichash`.
  public func digest(of context: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Length.hash)
    // SAFETY: the key has Length.key bytes.
    unsafe crypto_generichash(&digest, digest.count, context, UInt64(context.count), start, Length.key)
    return digest
  }
}
