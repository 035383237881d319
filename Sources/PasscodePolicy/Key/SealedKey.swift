/// What a sealed key tells without the TPM, as systemd-creds lays it out: 48 bytes with an id (16 bytes), sizes and an
/// initialisation vector, then the PCRs to which it is bound, one bit each, 8 bytes, little-endian. All in Base64, so the
/// 24 PCRs are the four letters from the 64th on. The policy of these PCRs is somewhere behind.
///
/// For people; for a rotation, which seals the next key in the same way; and to bind none to a value that passes.
///                                                                                                SealedKeyTests
public enum SealedKey {
  /// The PCR for debugging. No firmware extends it: after a boot it is 0. systemd 252 opens nothing that was sealed
  /// without any PCR, so there this one stands for none; but only at 0, for programs extend it, such as a Keylime agent.
  public static var debugPCR: Bytes { Bytes(text: "16") }

  /// Whether it is bound to PCR 16 (of SHA-256) at 0: to the digest that TPM2_PolicyPCR makes of that.
  public static func isBoundToZero(_ sealed: Bytes) -> Bool {
    var content = Bytes()
    var (bits, count) = (UInt32(0), 0)
    for letter in sealed {
      guard let value = base64Value(letter) else { continue }
      (bits, count) = (bits << 6 | value, count + 6)
      if count >= 8 {
        count -= 8
        content.append(byte: UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return content.indices.contains { content[$0...].starts(with: zeroPolicy) }
  }

  /// SHA-256 of 32 bytes 0, the command's code (0x17f), the selection (one bank: SHA-256, PCR 16) and the digest of the
  /// PCR's 32 bytes 0.
  private static var zeroPolicy: Bytes {
    [
      0xbf, 0xf2, 0xd5, 0x8e, 0x98, 0x13, 0xf9, 0x7c, 0xef, 0xc1, 0x4f, 0x72, 0xad, 0x81, 0x33, 0xbc,
      0x70, 0x92, 0xd6, 0x52, 0xb7, 0xc8, 0x77, 0x95, 0x92, 0x54, 0xaf, 0x14, 0x0c, 0x84, 0x1f, 0x36,
    ]
  }

  /// Whether this is what systemd 252 to 261 seal with a TPM alone. Newer ones have another id, which older ones don't open.
  public static func isKnown(_ sealed: Bytes) -> Bool {
    // The id's first 15 bytes.
    sealed.starts(with: Bytes(text: "DHzAexF2RZGcSwvqCLwg"))
  }

  /// The PCRs, as `systemd-creds --tpm2-pcrs` takes them (`7+14`); nil where that can't be told.
  public static func pcrs(_ sealed: Bytes) -> Bytes? {
    guard sealed.count > 68 else { return nil }
    var bits: UInt32 = 0
    for index in 64..<68 {
      guard let value = base64Value(sealed[index]) else { return nil }
      bits = bits << 6 | value
    }
    var text = Bytes()
    for number in 0..<24 where bits >> UInt32((2 - number / 8) * 8 + number % 8) & 1 == 1 {
      if !text.isEmpty { text.append(byte: UInt8(ascii: "+")) }
      text += decimalDigits(UInt64(number))
    }
    return text
  }

  /// Whether a text names PCRs: numbers from 0 to 23 with `+` between them.
  public static func isPCRs(_ text: Bytes) -> Bool {
    for part in text[...].parts(between: UInt8(ascii: "+")) {
      guard let number = decimal(part), number < 24 else { return false }
    }
    return true
  }
}

/// The value of a Base64 digit; nil for any other byte, padding included.
@inline(__always)
package func base64Value(_ letter: UInt8) -> UInt32? {
  switch letter {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
  case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
  case UInt8(ascii: "+"): 62
  case UInt8(ascii: "/"): 63
  default: nil
  }
}
