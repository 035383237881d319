internal import CSodium
internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

// What only the tools and the servers do with secrets: make passcodes, one-time codes and keys, keep a key, and compare it.

/// A uniformly random number below `bound`. The corresponding C function is `randombytes_uniform`.
public func randomNumber(below bound: UInt32, _ sodium: Sodium) -> UInt32 {
  randombytes_uniform(bound)
}

extension Passcode {
  // SAFETY (of all below): as in Passcode itself.

  /// Draws a passcode, uniformly; false, and the passcode is empty, if it can't have so many digits.
  public mutating func makeUp(digits: Int, _ sodium: Sodium) -> Bool {
    count = 0
    guard 0...Passcode.mostDigits ~= digits else { return false }
    for index in 0..<digits {
      unsafe start[index] = UInt8(ascii: "0") + UInt8(randomNumber(below: 10, sodium))
    }
    count = digits
    return true
  }

  /// Draws so many bytes uniformly from these; none if they don't fit.
  public mutating func draw(_ count: Int, from letters: [UInt8], _ sodium: Sodium) {
    wipe()
    guard 0...Passcode.longest ~= count, !letters.isEmpty else { return }
    for index in 0..<count {
      unsafe start[index] = letters[Int(randomNumber(below: UInt32(letters.count), sodium))]
    }
    self.count = count
  }

  /// Copies the line through `meaning`, leaving out bytes that map to 0. False, and this is empty, if one maps to nil
  /// or too many are left.
  public mutating func copy(_ line: borrowing TypedLine, as meaning: (UInt8) -> UInt8?) -> Bool {
    wipe()
    for index in 0..<line.count {
      guard let byte = unsafe meaning(line.start[index]), byte == 0 || count < Passcode.longest else {
        wipe()
        return false
      }
      guard byte != 0 else { continue }
      unsafe start[count] = byte
      count += 1
    }
    return true
  }

  /// Whether a line repeats this passcode; compared in constant time. The corresponding C function is `sodium_memcmp`.
  public func isRepeated(in line: borrowing TypedLine) -> Bool {
    unsafe count == line.count && sodium_memcmp(start, line.start, count) == 0
  }
}

extension TypedLine {
  // SAFETY (of all below): as in TypedLine itself.

  /// Adds a byte; none beyond `longest`.
  public mutating func append(_ byte: UInt8) {
    guard count < TypedLine.longest else { return }
    unsafe start[count] = byte
    count += 1
  }

  /// Takes the bytes; false, and the line is empty then, if they are too many.
  public mutating func take(_ bytes: [UInt8]) -> Bool {
    unsafe take(bytes, count: bytes.count)
  }
}

extension SecretKey {
  // SAFETY (of all below): there are Length.key bytes.

  /// Lends the bytes for reading.
  public func read<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
    unsafe body(Span(_unsafeStart: start, count: Length.key))
  }

  /// Fills the key with random bytes. The corresponding C function is `randombytes_buf`.
  public mutating func makeUp(_ sodium: Sodium) {
    unsafe randombytes_buf(start, Length.key)
  }

  /// Copies another key into this one.
  public mutating func copy(_ other: borrowing SecretKey) {
    unsafe cs_copy(start, other.start, Length.key)
  }

  /// Whether both are one key, in constant time. The corresponding C function is `sodium_memcmp`.
  public func equals(_ other: borrowing SecretKey) -> Bool {
    unsafe sodium_memcmp(start, other.start, Length.key) == 0
  }

  /// Four bytes by which people tell keys apart; they say nothing else of it. The corresponding C function is
  /// `crypto_generichash`.
  public var id: [UInt8] {
    let label = Bytes(text: "pam_passcode key id\n")
    var digest = [UInt8](repeating: 0, count: 16)
    // SAFETY: every buffer comes with its length, the key has Length.key bytes.
    unsafe crypto_generichash(&digest, digest.count, label, UInt64(label.count), start, Length.key)
    return [UInt8](digest.prefix(4))
  }

  /// BLAKE2b-256 of a context that is no secret, under this key. The corresponding C function is `crypto_generichash`.
  public func digest(of context: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Length.hash)
    // SAFETY: as above.
    unsafe crypto_generichash(&digest, digest.count, context, UInt64(context.count), start, Length.key)
    return digest
  }

  /// Writes the key into an empty file. The corresponding C function is `pwrite`.
  public func write(_ file: borrowing Descriptor) throws(Errno) {
    let written = try retrying { unsafe pwrite(file.raw, start, Length.key, 0) }
    if written != Length.key { throw Errno(EIO) }
  }

  /// Sets one of its 64 hexadecimal digits; outside the key it does nothing.
  public mutating func set(_ digit: UInt8, at index: Int) {
    guard 0..<2 * Length.key ~= index else { return }
    let place = unsafe start + index / 2
    unsafe place.pointee =
      index % 2 == 0 ? digit << 4 | place.pointee & 15 : place.pointee & 0xf0 | digit & 15
  }
}
