/// A sentence of ours, as bytes: `"\(path): \(count) records"`.
///
/// It is written like a String and isn't one: String's own interpolation, comparison and Unicode tables are
/// half the size of this module, and a login program needs none of them. What is interpolated is taken byte
/// for byte; whatever came from outside goes through `printable` or `LogLine.add` first.
public struct Text: Equatable, Sendable, ExpressibleByStringInterpolation {
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

  public init(stringInterpolation parts: Interpolation) {
    bytes = parts.bytes
  }

  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var bytes = Bytes()

    // Inlined, for nothing is left of it.
    @inline(__always)
    public init(literalCapacity: Int, interpolationCount: Int) {}

    @inline(__always)
    public mutating func appendLiteral(_ text: StaticString) {
      append(Literal(stringLiteral: text))
    }

    @inline(never)
    private mutating func append(_ text: Literal) {
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
  }

  public static func + (one: Text, two: Text) -> Text {
    Text(one.bytes + two.bytes)
  }
}
