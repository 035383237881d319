/// The bytes of a literal of ours, in UTF-8.
///
/// In the code it is an address and a number. A String, which may also hold a short text itself, takes twice as many bytes
/// of code wherever one is written, and so does whatever reads it.
@safe
public struct Literal: ExpressibleByStringLiteral, @unchecked Sendable {
  private let start: UnsafePointer<UInt8>
  public let count: Int

  @inline(__always)
  public init(stringLiteral text: StaticString) {
    unsafe start = text.utf8Start
    count = text.utf8CodeUnitCount
  }

  public var indices: Range<Int> { 0..<count }

  /// The byte at one of the `indices`; 0 elsewhere.
  public subscript(index: Int) -> UInt8 {
    guard indices.contains(index) else { return 0 }
    // SAFETY: a literal's bytes live for ever, never change, and there are `count`.
    return unsafe start[index]
  }

  /// Appends all bytes at once. `Bytes.append(text:)` needs less code, but three times as long.
  package func append(to bytes: inout Bytes) {
    // SAFETY: as above.
    unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
  }
}
