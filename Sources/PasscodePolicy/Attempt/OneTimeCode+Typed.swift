extension OneTimeCode {
  /// What a typed byte means: one of the letters; 0, for blanks and hyphens: nothing; nil: it is in no code.
  public static func letter(_ byte: UInt8) -> UInt8? {
    if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "-") { return 0 }
    let isSmall = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
    let letter = isSmall ? byte - 32 : byte
    return letters.contains(letter) ? letter : nil
  }
}
