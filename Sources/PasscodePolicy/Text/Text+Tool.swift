// What the programs of an administrator need of texts, besides what a login does.

extension Text {
  /// Empties the text, and keeps its memory for the next one.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  public static func += (text: inout Text, more: Text) {
    text.bytes.append(contentsOf: more.bytes)
  }
}

/// `"\(path): \(count) records"`: what is interpolated is taken byte for byte; whatever came from outside goes through
/// `printable` or `LogLine.add` first.
extension Text: ExpressibleByStringInterpolation {
  public init(stringInterpolation parts: Interpolation) {
    bytes = parts.bytes
  }

  public struct Interpolation: StringInterpolationProtocol {
    /// Has room for nearly every text at once.
    fileprivate var bytes = Bytes(room: 400)

    // The numbers are ignored, so that no call passes them.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    @inline(__always)
    public mutating func appendLiteral(_ text: StaticString) {
      append(Literal(stringLiteral: text))
    }

    @inline(never)
    private mutating func append(_ text: Literal) {
      text.append(to: &bytes)
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
}

extension Bytes {
  /// A copy of what is lent.
  @inline(never)
  public init(_ span: Span<UInt8>) {
    self = Bytes(room: span.count)
    for index in span.indices { append(byte: span[index]) }
  }
}

extension Advice {
  public init(_ sentence: Text, _ command: Text = "") {
    self.sentence = sentence
    self.command = command
  }
}

extension Sentence {
  public var english: Text { text(in: Sentence.inEnglish) }
}
