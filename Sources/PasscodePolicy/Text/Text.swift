/// A sentence of ours, as bytes.
///
/// It is written like a String and isn't one: String's own comparison and Unicode tables are half the size of this module,
/// and a login program needs none of them.
public struct Text: Equatable, Sendable, ExpressibleByStringLiteral {
  public internal(set) var bytes: Bytes

  public init(_ bytes: Bytes) {
    self.bytes = bytes
  }

  @inline(never)
  public init(_ text: Literal) {
    bytes = Bytes(text: text)
  }

  @inline(__always)
  public init(stringLiteral text: StaticString) {
    self.init(Literal(stringLiteral: text))
  }

  public static func + (one: Text, two: Text) -> Text {
    Text(one.bytes + two.bytes)
  }
}
