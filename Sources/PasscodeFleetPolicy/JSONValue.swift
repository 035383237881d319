public import PasscodePolicy

/// A JSON document (RFC 8259), as far as etcd's gateway writes one.
///
/// The bytes come from outside, so everything is bounded, and what isn't JSON to the last byte is no document:
///
/// - A document MUST have at most `longest` bytes, `deepest` levels, and `mostItems` items in a list.
/// - An object MUST have at most `mostMembers` members, no two of one name: readers must not disagree which counts.
/// - Numbers are whole: 64-bit numbers come as strings, and no other field that is read has a fraction.
///                                                                                    JSONValueTests, FuzzEtcd
public enum JSONValue: Equatable, Sendable {
  case null
  case flag(Bool)
  /// A JSON number, as the text spells it.
  case number(Bytes)
  /// A JSON string, with its escapes resolved.
  case string(Bytes)
  case list([JSONValue])
  case object([Member])

  public struct Member: Equatable, Sendable {
    public let name: Bytes
    public let value: JSONValue
  }

  /// Bytes.
  public static let longest = 1 << 20
  static let deepest = 16
  static let mostItems = 4_096
  static let mostMembers = 64

  /// nil unless the input is well-formed and complete.
  @inline(never)
  public init?(_ document: Bytes) {
    guard document.count <= JSONValue.longest else { return nil }
    var reader = JSONReader(document)
    guard let value = reader.document() else { return nil }
    self = value
  }

  /// The object's member of this name; nil: it has none, or this is no object.
  @inline(never)
  public func member(_ name: Literal) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.name.spells(name) { return member.value }
    return nil
  }

  /// The text of a string.
  public var text: Bytes? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The items of a list.
  public var items: [JSONValue]? {
    if case .list(let items) = self { return items }
    return nil
  }

  /// A whole number that isn't negative, as a string or as a number.
  public var number: UInt64? {
    switch self {
    case .string(let digits), .number(let digits): decimal(digits[...])
    case .null, .flag, .list, .object: nil
    }
  }
}

private struct JSONReader {
  private let bytes: Bytes
  private var position = 0

  init(_ bytes: Bytes) {
    self.bytes = bytes
  }

  mutating func document() -> JSONValue? {
    guard let value = value(depth: 0) else { return nil }
    skipBlanks()
    return position == bytes.count ? value : nil
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard next == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func spell(_ word: Literal) -> Bool {
    guard bytes[position...].begins(with: word) else { return false }
    position += word.count
    return true
  }

  private mutating func value(depth: Int) -> JSONValue? {
    guard depth < JSONValue.deepest else { return nil }
    skipBlanks()
    switch next {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return list(depth: depth)
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return spell("true") ? .flag(true) : nil
    case UInt8(ascii: "f"): return spell("false") ? .flag(false) : nil
    case UInt8(ascii: "n"): return spell("null") ? .null : nil
    default: return number().map { .number($0) }
    }
  }

  private mutating func object(depth: Int) -> JSONValue? {
    var members: [JSONValue.Member] = []
    position += 1
    if take("}") { return .object([]) }
    repeat {
      skipBlanks()
      guard members.count < JSONValue.mostMembers, next == UInt8(ascii: "\""), let name = string(), take(":"),
        let value = value(depth: depth + 1)
      else { return nil }
      for member in members where member.name == name { return nil }
      members.append(JSONValue.Member(name: name, value: value))
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func list(depth: Int) -> JSONValue? {
    var items: [JSONValue] = []
    position += 1
    if take("]") { return .list([]) }
    repeat {
      guard items.count < JSONValue.mostItems, let item = value(depth: depth + 1) else { return nil }
      items.append(item)
    } while take(",")
    return take("]") ? .list(items) : nil
  }

  private mutating func number() -> Bytes? {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    let digits = position
    while let byte = next, isDigit(byte) { position += 1 }
    guard position > digits, position - digits == 1 || bytes[digits] != UInt8(ascii: "0") else { return nil }
    return Bytes(bytes[start..<position])
  }

  private mutating func string() -> Bytes? {
    var text = Bytes()
    position += 1
    while true {
      let start = position
      while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        position += 1
      }
      text += bytes[start..<position]
      switch next {
      case UInt8(ascii: "\""):
        position += 1
        return text
      case UInt8(ascii: "\\"):
        position += 1
        guard let escaped = escaped() else { return nil }
        text += escaped
      default: return nil
      }
    }
  }

  private mutating func escaped() -> Bytes? {
    guard let byte = next else { return nil }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [8]
    case UInt8(ascii: "f"): return [12]
    case UInt8(ascii: "n"): return [10]
    case UInt8(ascii: "r"): return [13]
    case UInt8(ascii: "t"): return [9]
    case UInt8(ascii: "u"): return character()
    default: return nil
    }
  }

  /// Four hexadecimal digits, up to U+FFFF; no surrogates, since nothing that is read here needs them.
  private mutating func character() -> Bytes? {
    guard position + 4 <= bytes.count else { return nil }
    var scalar: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = hexadecimalValue(bytes[position]) else { return nil }
      position += 1
      scalar = scalar << 4 | UInt32(digit)
    }
    switch scalar {
    case 0..<0x80: return [UInt8(scalar)]
    case 0x80..<0x800: return [UInt8(0xc0 | scalar >> 6), UInt8(0x80 | scalar & 63)]
    case 0xd800..<0xe000: return nil
    default: return [UInt8(0xe0 | scalar >> 12), UInt8(0x80 | scalar >> 6 & 63), UInt8(0x80 | scalar & 63)]
    }
  }
}
