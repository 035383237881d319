/// A sentence of ours, as bytes: `"\(path): \(count) records"`.
///
/// It is written like a String and isn't one: String's own interpolation, comparison and Unicode tables are
/// half the size of this module, and a login program needs none of them. What is interpolated is taken byte
/// for byte; whatever came from outside goes through `printable` or `escaped` first.
public struct Text: Equatable, Sendable, ExpressibleByStringInterpolation {
  public private(set) var bytes: Bytes

  public init(_ bytes: Bytes) {
    self.bytes = bytes
  }

  @inline(never)
  public init(stringLiteral text: String) {
    bytes = Bytes(text: text)
  }

  public init(stringInterpolation parts: Interpolation) {
    bytes = parts.bytes
  }

  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var bytes = Bytes()

    @inline(never)
    public init(literalCapacity: Int, interpolationCount: Int) {
      bytes.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    @inline(never)
    public mutating func appendLiteral(_ text: String) {
      bytes.append(text: text)
    }

    @inline(never)
    public mutating func appendInterpolation(_ bytes: Bytes) {
      self.bytes.append(contentsOf: bytes)
    }

    @inline(never)
    public mutating func appendInterpolation(_ text: Text) {
      bytes.append(contentsOf: text.bytes)
    }

    @inline(never)
    public mutating func appendInterpolation(_ number: UInt64) {
      bytes.append(contentsOf: decimalDigits(number))
    }

    public mutating func appendInterpolation(_ number: UInt32) {
      appendInterpolation(UInt64(number))
    }

    /// - Precondition: not negative (it counts something).
    public mutating func appendInterpolation(_ number: Int) {
      appendInterpolation(UInt64(max(0, number)))
    }
  }

  public static func += (text: inout Text, more: Text) {
    text.bytes.append(contentsOf: more.bytes)
  }

  public static func + (one: Text, two: Text) -> Text {
    Text(one.bytes + two.bytes)
  }
}

/// The number in decimal.
public func decimalDigits(_ number: UInt64) -> Bytes {
  var digits = Bytes()
  var rest = number
  repeat {
    digits.append(UInt8(ascii: "0") + UInt8(rest % 10))
    rest /= 10
  } while rest > 0
  digits.reverse()
  return digits
}

/// The lowest `count` bytes of a number, the lowest first.
@inline(never)
public func littleEndian(_ number: UInt64, _ count: Int) -> Bytes {
  var bytes = Bytes()
  for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(index * 8))) }
  return bytes
}

/// - Precondition: so many bytes are there.
@inline(never)
public func littleEndianNumber(_ bytes: Bytes, _ offset: Int, _ count: Int) -> UInt64 {
  var number: UInt64 = 0
  for index in 0..<count { number |= UInt64(bytes[offset + index]) << UInt64(index * 8) }
  return number
}

extension Bytes {
  /// The UTF-8 of a literal of ours.
  public init(text: String) {
    self = []
    append(text: text)
  }

  @inline(never)
  mutating func append(text: String) {
    let utf8 = text.utf8.span
    reserveCapacity(count + utf8.count)
    for index in utf8.indices { append(utf8[index]) }
  }

  /// True if these bytes spell `text`.
  public func spells(_ text: String) -> Bool {
    self[...].spells(text)
  }
}

extension ArraySlice<UInt8> {
  /// True if these bytes spell `text`.
  public func spells(_ text: String) -> Bool {
    count == text.utf8.span.count && begins(with: text)
  }

  /// True if the first of these bytes spell `text`.
  @inline(never)
  func begins(with text: String) -> Bool {
    let utf8 = text.utf8.span
    guard count >= utf8.count else { return false }
    for index in utf8.indices where self[startIndex + index] != utf8[index] { return false }
    return true
  }
}
