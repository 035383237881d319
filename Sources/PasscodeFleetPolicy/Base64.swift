public import PasscodePolicy

/// Base64 with padding (RFC 4648, section 4): etcd's gateway takes and gives keys and values in it.    Base64Tests
@inline(never)
public func base64(_ bytes: Bytes) -> Bytes {
  var text = Bytes()
  text.reserveCapacity((bytes.count + 2) / 3 * 4)
  var start = 0
  while start < bytes.count {
    let count = min(3, bytes.count - start)
    var group: UInt32 = 0
    for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
    for index in 0..<4 {
      let digit = UInt8(truncatingIfNeeded: group >> UInt32(18 - index * 6)) & 63
      text.append(byte: index <= count ? base64Digit(digit) : padding)
    }
    start += 3
  }
  return text
}

/// Decodes base64; nil for any text that `base64` doesn't write.
@inline(never)
public func bytes(base64 text: ArraySlice<UInt8>) -> Bytes? {
  let digits = text.span
  let count = text.suffix(2).firstIndex(of: padding).map { $0 - text.startIndex } ?? digits.count
  guard digits.count % 4 == 0 else { return nil }
  var bytes = Bytes(repeating: 0, count: count * 3 / 4)
  var written = bytes.mutableSpan
  var group: UInt32 = 0
  for index in 0..<count {
    guard let digit = base64Value(digits[index]) else { return nil }
    group = group << 6 | digit
    // Each digit but the first one of four completes a byte.
    let bits = UInt32(6 - index % 4 * 2)
    if bits < 6 { written[index * 3 / 4] = UInt8(truncatingIfNeeded: group >> bits) }
  }
  // One spelling: there is no room for bits that nobody reads, or for padding in the middle.
  let unread = group & (1 << UInt32(count % 4 * 6 % 8) - 1)
  let isPadded = digits.count - count < 2 || text.last == padding
  return unread == 0 && isPadded ? bytes : nil
}

private let padding = UInt8(ascii: "=")

private func base64Digit(_ value: UInt8) -> UInt8 {
  switch value {
  case 0..<26: UInt8(ascii: "A") + value
  case 26..<52: UInt8(ascii: "a") + value - 26
  case 52..<62: UInt8(ascii: "0") + value - 52
  case 62: UInt8(ascii: "+")
  default: UInt8(ascii: "/")
  }
}
