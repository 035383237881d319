/// A set of fingers, by fprintd's names.
public struct Fingers: Equatable, Sendable {

  /// One bit each, in the order of `Fingers+Names`.
  public let bits: UInt16

  /// nil where a bit has no finger.
  public init?(bits: UInt16) {
    guard bits < 1 << 10 else { return nil }
    self.bits = bits
  }

  public var isEmpty: Bool { bits == 0 }
}
