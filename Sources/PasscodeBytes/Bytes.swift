/// Text inside is bytes: Embedded Swift compares Strings only with Unicode tables, and a login
/// program needs none. What isn't exactly the form that we write is refused, never "nearly right".
public typealias Bytes = [UInt8]

/// The number that `digits` spells in decimal.
///
/// - Returns: nil for anything but ASCII digits without a leading zero ("0" itself is fine), and beyond
///   `UInt64.max`: every number that we can write can be read again.
@inline(never)
public func decimal(_ digits: ArraySlice<UInt8>) -> UInt64? {
  guard (1...20).contains(digits.count) else { return nil }
  if digits.count > 1 && digits.first == UInt8(ascii: "0") { return nil }
  var value: UInt64 = 0
  for digit in digits {
    guard isDigit(digit) else { return nil }
    let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
    let (sum, overflow) = tens.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
    guard !tooLarge, !overflow else { return nil }
    value = sum
  }
  return value
}

/// The number in decimal: the inverse of `decimal`.
@inline(never)
public func decimalDigits(_ number: UInt64) -> Bytes {
  var digits = number < 10 ? Bytes(room: 20) : decimalDigits(number / 10)
  digits.append(byte: UInt8(ascii: "0") + UInt8(number % 10))
  return digits
}

/// ASCII only: "٤" and "４" are digits to Unicode and nothing to a passcode.
@inline(__always)
public func isDigit(_ byte: UInt8) -> Bool {
  byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
}

package func isLetter(_ byte: UInt8) -> Bool {
  UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
}

/// Whether a byte is an ASCII letter or digit, or one of `others`.
@inline(never)
package func isWordByte(_ byte: UInt8, or others: Literal) -> Bool {
  for index in others.indices where others[index] == byte { return true }
  return isLetter(byte) || isDigit(byte)
}

/// Two lower-case hexadecimal digits a byte.
@inline(never)
public func hexadecimal(_ bytes: Bytes) -> Bytes {
  var text = Bytes(repeating: 0, count: bytes.count * 2)
  var written = text.mutableSpan
  for index in bytes.indices {
    written[index * 2] = hexadecimalDigit(bytes[index] >> 4)
    written[index * 2 + 1] = hexadecimalDigit(bytes[index] & 15)
  }
  return text
}

/// The inverse of `hexadecimal`; nil for an odd length or any byte but 0-9 and a-f.
@inline(never)
public func bytes(hexadecimal text: ArraySlice<UInt8>) -> Bytes? {
  guard text.count % 2 == 0 else { return nil }
  let digits = text.span
  var bytes = Bytes(repeating: 0, count: digits.count / 2)
  var written = bytes.mutableSpan
  for index in written.indices {
    guard let high = nibble(digits[index * 2]), let low = nibble(digits[index * 2 + 1]) else { return nil }
    written[index] = high << 4 | low
  }
  return bytes
}

private func hexadecimalDigit(_ nibble: UInt8) -> UInt8 {
  nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
}

/// The value of a hexadecimal digit; without branches that depend on random input, so that it is fast.
private func nibble(_ digit: UInt8) -> UInt8? {
  let value = (digit &+ (digit >> 6) &* 9) & 15
  return hexadecimalDigit(value) == digit ? value : nil
}

/// The lowest `count` bytes of a number, 0 to 8, the lowest first.
@inline(never)
public func littleEndian(_ number: UInt64, _ count: Int) -> Bytes {
  var bytes = Bytes()
  bytes.append(number, bytes: count)
  return bytes
}

/// The number in `count` bytes from `offset` on, the lowest first: the inverse of `littleEndian`.
///
/// - Precondition: so many bytes are there; at most 8.
@inline(never)
public func littleEndianNumber(_ bytes: Bytes, _ offset: Int, _ count: Int) -> UInt64 {
  var number: UInt64 = 0
  for index in 0..<count { number |= UInt64(bytes[offset + index]) << UInt64(index * 8) }
  return number
}

extension Bytes {
  // What follows stands here once. The standard library's own would stand wherever it is used, at up to 100 bytes each.

  /// No bytes yet, and room for so many.
  @inline(never)
  package init(room: Int) {
    self = []
    reserveCapacity(room)
  }

  /// Joins two byte strings.
  @inline(never)
  public static func + (one: Bytes, two: Bytes) -> Bytes {
    var both = one
    both.append(contentsOf: two)
    return both
  }

  /// The UTF-8 of a literal of ours.
  @inline(never)
  public init(text: Literal) {
    self = Bytes(room: text.count)
    append(text: text)
  }

  @inline(never)
  package mutating func append(text: Literal) {
    for index in text.indices { append(byte: text[index]) }
  }

  /// As `append`, whose code is long and would stand wherever it is called.
  @inline(never)
  public mutating func append(byte: UInt8) {
    append(byte)
  }

  /// Adds the lowest `count` bytes of a number, as `littleEndian` has them.
  @inline(never)
  package mutating func append(_ number: UInt64, bytes count: Int) {
    for index in 0..<count { append(byte: UInt8(truncatingIfNeeded: number >> UInt64(index * 8))) }
  }

  /// True if these bytes spell `text`.
  @inline(never)
  public func spells(_ text: Literal) -> Bool {
    self[...].spells(text)
  }

  /// True if the first of these bytes spell `text`.
  @inline(never)
  public func begins(with text: Literal) -> Bool {
    self[...].begins(with: text)
  }
}

/// The path of a file in a folder.
@inline(never)
public func joined(_ folder: Bytes, _ name: Bytes) -> Bytes {
  folder + Bytes(text: "/") + name
}

// Words that have numbers, from 0 on: all in one literal, between blanks. In the code each literal of its own takes 15
// bytes, and a number 3.

/// The word of that number; empty: there is none.
@inline(never)
package func word(_ number: Int, of words: Literal) -> Bytes {
  var word = Bytes()
  var left = number
  for index in words.indices {
    if words[index] == UInt8(ascii: " ") {
      if left == 0 { break }
      left -= 1
    } else if left == 0 {
      word.append(byte: words[index])
    }
  }
  return word
}

/// The index of a word in a list of words; nil if the list lacks that word.
@inline(never)
public func number(of word: ArraySlice<UInt8>, among words: Literal) -> Int? {
  var (number, place) = (0, word.startIndex)
  var isSame = true
  for index in 0...words.count {
    if index == words.count || words[index] == UInt8(ascii: " ") {
      if isSame, place == word.endIndex { return number }
      (number, place, isSame) = (number + 1, word.startIndex, true)
    } else {
      isSame = isSame && place < word.endIndex && word[place] == words[index]
      if isSame { place += 1 }
    }
  }
  return nil
}

extension ArraySlice<UInt8> {
  /// True if these bytes spell `text`.
  @inline(never)
  public func spells(_ text: Literal) -> Bool {
    count == text.count && begins(with: text)
  }

  /// True if the first of these bytes spell `text`.
  @inline(never)
  public func begins(with text: Literal) -> Bool {
    guard count >= text.count else { return false }
    for index in text.indices where self[startIndex + index] != text[index] { return false }
    return true
  }

  /// What lies between the separators, before the first and after the last one; empty parts, too.
  @inline(never)
  public func parts(between separator: UInt8) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    _ = allParts(between: separator) { part in
      parts.append(part)
      return true
    }
    return parts
  }

  /// Whether all of these parts satisfy something; none is looked at after one that doesn't. The module needs no array of
  /// slices, whose code takes 1 kB.
  @inline(never)
  public func allParts(between separator: UInt8, satisfy body: (ArraySlice<UInt8>) -> Bool) -> Bool {
    var start = startIndex
    for index in startIndex...endIndex where index == endIndex || self[index] == separator {
      guard body(self[start..<index]) else { return false }
      start = index + 1
    }
    return true
  }

  /// The slice without blanks and tabs at either end.
  @inline(never)
  public func trimmed() -> ArraySlice<UInt8> {
    var (start, end) = (startIndex, endIndex)
    while start < end, isBlank(self[start]) { start += 1 }
    while start < end, isBlank(self[end - 1]) { end -= 1 }
    return self[start..<end]
  }
}

public func isBlank(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
}
