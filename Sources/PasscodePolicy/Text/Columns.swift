/// How many columns of a terminal UTF-8 takes: two for each of the wide characters of East Asia, none for an accent that
/// is written after its letter, one for anything else; one for each byte that isn't UTF-8.
///
/// Not by wcwidth(3), which knows only what the locale does: our own signs are UTF-8 everywhere.     ColumnsTests
public func columns(_ text: ArraySlice<UInt8>) -> Int {
  // Most texts are ASCII: one column for each byte.
  guard !text.allSatisfy({ $0 < 0x80 }) else { return text.count }
  var columns = 0
  var rest = text
  while !rest.isEmpty {
    let (scalar, length) = firstScalar(rest)
    rest = rest.dropFirst(length)
    columns += width(scalar)
  }
  return columns
}

/// The text, and blanks up to so many columns; at least one.
public func padded(_ text: Text, _ width: Int) -> Text {
  text + Text(Bytes(repeating: UInt8(ascii: " "), count: max(1, width - columns(text.bytes[...]))))
}

/// The first character of a text in UTF-8, and its length in bytes; a byte that isn't UTF-8 counts as one.
func firstScalar(_ text: ArraySlice<UInt8>) -> (scalar: UInt32, length: Int) {
  guard let first = text.first else { return (0, 0) }
  let length = first >= 0xf8 || first < 0xc0 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  let rest = text.prefix(length).dropFirst()
  guard rest.count == length - 1, rest.allSatisfy({ $0 & 0xc0 == 0x80 }) else { return (UInt32(first), 1) }
  var scalar = length == 1 ? UInt32(first) : UInt32(first) & (0x7f >> UInt32(length))
  for byte in rest { scalar = scalar << 6 | UInt32(byte & 0x3f) }
  return (scalar, length)
}

/// By the ranges of Unicode that are wide, or full width, as a whole (East Asian Width, annex 11).
func width(_ scalar: UInt32) -> Int {
  switch scalar {
  case 0x300...0x36f: 0
  case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
    0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd:
    2
  default: 1
  }
}
