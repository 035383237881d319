/// A one-time code of a fleet: 8 letters, each drawn uniformly from 24. Its rules are in KeptCode.swift.   OneTimeCodeTests
public enum OneTimeCode {
  public static let length = 8
  /// No I and no O, which look like 1 and 0.
  public static var letters: Bytes { Bytes(text: "ABCDEFGHJKLMNPQRSTUVWXYZ") }

  /// What a typed byte means: one of the letters; 0, for blanks and hyphens: nothing; nil: it is in no code.
  public static func letter(_ byte: UInt8) -> UInt8? {
    if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "-") { return 0 }
    let isSmall = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
    let letter = isSmall ? byte - 32 : byte
    return letters.contains(letter) ? letter : nil
  }

  /// Whether these are the bytes of a code, as they are hashed.
  public static func isCode(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count == length else { return false }
    let letters = letters
    for index in bytes.indices where !letters.contains(bytes[index]) { return false }
    return true
  }
}
