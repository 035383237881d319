/// A log line: words of ours, then `key=value` pairs whose values came from outside and are escaped, so
/// that no user name, host or service can look like another field or another line.
public struct LogLine {
  public private(set) var text: Bytes

  /// - Parameter event: words of ours, such as `passcode granted`.
  public init(_ event: String) {
    text = Bytes(event.utf8)
  }

  public init(_ event: Bytes) {
    text = event
  }

  /// Adds ` key=value`; an empty or missing value is left out.
  public mutating func add(_ key: String, _ value: Bytes?) {
    guard let value, !value.isEmpty else { return }
    text.append(UInt8(ascii: " "))
    text.append(contentsOf: key.utf8)
    text.append(UInt8(ascii: "="))
    text.append(contentsOf: escaped(value))
  }

  /// Adds ` key="sentence"`, for a fault's text: one line of ours, whose parts from outside are printable.
  public mutating func add(_ key: String, sentence: Bytes) {
    text += Bytes(text: " " + key + "=\"")
    text += sentence.map { $0 == UInt8(ascii: "\"") ? UInt8(ascii: "'") : $0 }
    text += Bytes(text: "\"")
  }

  public mutating func add(_ key: String, _ value: UInt64) {
    add(key, Bytes(text: "\(value)"))
  }
}

/// At most so much of a value from outside reaches the log.
private let longestValue = 128

/// Blanks, quotes, backslashes, `=` and everything that isn't printable ASCII become `\xHH`; what is longer
/// than 128 bytes is cut and ends in `...`.
public func escaped(_ value: Bytes) -> Bytes {
  escape(value) { byte in
    byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "=")
      && byte != UInt8(ascii: "\"")
  }
}

/// For a value within a sentence: blanks and `=` stay as they are.
public func printable(_ value: Bytes) -> Bytes {
  escape(value) { byte in
    byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"")
  }
}

private func escape(_ value: Bytes, keeping isPlain: (UInt8) -> Bool) -> Bytes {
  var text = Bytes()
  for byte in value.prefix(longestValue) {
    if isPlain(byte) {
      text.append(byte)
    } else {
      text += Bytes(text: "\\x") + hexadecimal([byte])
    }
  }
  if value.count > longestValue { text += Bytes(text: "...") }
  return text
}
