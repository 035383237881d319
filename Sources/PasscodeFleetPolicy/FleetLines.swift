internal import PasscodePolicy

/// Reads lines `name=value`, each ended by a newline, in their order.
struct FleetLines {
  /// The text after the last line that was read.
  private(set) var rest: ArraySlice<UInt8>

  init(_ text: Bytes) {
    rest = text[...]
  }

  /// The value of the next line, if that line has this name.
  mutating func value(_ name: Literal) -> ArraySlice<UInt8>? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")),
      let equals = rest[..<end].firstIndex(of: UInt8(ascii: "=")), rest[..<equals].spells(name)
    else { return nil }
    let value = rest[(equals + 1)..<end]
    rest = rest[(end + 1)...]
    return value
  }

  /// The next line's value as a decimal number; nil for another name or any other value.
  mutating func number(_ name: Literal) -> UInt64? {
    guard let digits = value(name) else { return nil }
    return decimal(digits)
  }
}
