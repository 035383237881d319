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

extension Text.Interpolation {
  /// - Precondition: not negative (it counts something).
  public mutating func appendInterpolation(_ number: Int) {
    appendInterpolation(UInt64(max(0, number)))
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
