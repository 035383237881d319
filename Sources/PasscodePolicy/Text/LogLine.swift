/// A log line: words of ours, then `key=value` pairs whose values came from outside and are escaped, so
/// that no user name, host or service can look like another field or another line.
public struct LogLine {
  public private(set) var text: Bytes

  /// - Parameter event: words of ours, such as `passcode granted`.
  public init(_ event: Text) {
    text = event.bytes
  }

  /// Adds ` key=value`; an empty or missing value is left out.
  @inline(never)
  public mutating func add(_ key: Literal, _ value: Bytes?) {
    guard let value, !value.isEmpty else { return }
    begin(key)
    text += escape(value, isSentence: false)
  }

  @inline(never)
  private mutating func begin(_ key: Literal) {
    text.append(byte: UInt8(ascii: " "))
    text.append(text: key)
    text.append(byte: UInt8(ascii: "="))
  }

  /// Adds ` key="sentence"`, for a fault's text: one line of ours, whose parts from outside are printable.
  public mutating func add(_ key: Literal, sentence: Bytes) {
    begin(key)
    text.append(byte: UInt8(ascii: "\""))
    for byte in sentence { text.append(byte: byte == UInt8(ascii: "\"") ? UInt8(ascii: "'") : byte) }
    text.append(byte: UInt8(ascii: "\""))
  }

  @inline(never)
  public mutating func add(_ key: Literal, _ value: UInt64) {
    add(key, decimalDigits(value))
  }
}

/// At most so much of a value from outside reaches the log.
private let longestValue = 128

/// For a value within a sentence: blanks and `=` stay as they are.
public func printable(_ value: Bytes) -> Bytes {
  escape(value, isSentence: true)
}

/// Blanks, quotes, backslashes, `=` and all but printable ASCII become `\xHH`; after 128 bytes it is cut, and ends in `...`.
@inline(never)
func escape(_ value: Bytes, isSentence: Bool) -> Bytes {
  let shown = min(value.count, longestValue)
  var text = Bytes(room: shown)
  for byte in value[0..<shown] {
    if isPlain(byte, isSentence) {
      text.append(byte: byte)
    } else {
      text.append(text: "\\x")
      text += hexadecimal([byte])
    }
  }
  if value.count > longestValue { text.append(text: "...") }
  return text
}

private func isPlain(_ byte: UInt8, _ isSentence: Bool) -> Bool {
  switch byte {
  case UInt8(ascii: " "), UInt8(ascii: "="): isSentence
  case UInt8(ascii: "\\"), UInt8(ascii: "\""): false
  default: byte > 0x20 && byte < 0x7f
  }
}
