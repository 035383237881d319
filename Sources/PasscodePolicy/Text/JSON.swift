/// What stands between the quotes of a JSON string (RFC 8259): quotes, backslashes and control characters are
/// escaped; a byte that isn't UTF-8 becomes U+FFFD, and so does each of those from U+0080 to U+009F, by which some
/// terminals are told things.
///
/// Not by String, whose tables would be a twentieth of the tool.
public func jsonEscaped(_ bytes: Bytes) -> Bytes {
  if bytes.allSatisfy(standsForItself) { return bytes }
  var text = Bytes()
  var rest = bytes[...]
  while let byte = rest.first {
    let length = sequenceLength(rest)
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
    case 0..<0x20, 0x7f: text += Text("\\u00\(hexadecimal([byte]))").bytes
    default: if length == 0 { text.append(text: "\u{fffd}") } else { text += rest.prefix(length) }
    }
    rest = rest.dropFirst(max(1, length))
  }
  return text
}

/// Whether a byte stands for itself in a JSON string, as almost all ASCII characters do.
private func standsForItself(_ byte: UInt8) -> Bool {
  (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

/// How many bytes the first UTF-8 sequence has (RFC 3629, section 4); 0: it isn't one, or a control character's.
private func sequenceLength(_ bytes: ArraySlice<UInt8>) -> Int {
  guard let first = bytes.first else { return 0 }
  let length: Int
  let least: UInt32
  switch first {
  case 0..<0x80: return 1
  case 0xc0..<0xe0: (length, least) = (2, 0xa0)
  case 0xe0..<0xf0: (length, least) = (3, 0x800)
  case 0xf0..<0xf8: (length, least) = (4, 0x1_0000)
  default: return 0
  }
  guard bytes.count >= length else { return 0 }
  var scalar = UInt32(first) & (0x7f >> UInt32(length))
  for byte in bytes.prefix(length).dropFirst() {
    guard byte & 0xc0 == 0x80 else { return 0 }
    scalar = scalar << 6 | UInt32(byte & 0x3f)
  }
  // Neither longer than it must be, nor a surrogate, nor beyond the last one.
  return scalar >= least && Unicode.Scalar(scalar) != nil ? length : 0
}
