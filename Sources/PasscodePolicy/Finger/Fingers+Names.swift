extension Fingers {
  public var isEmpty: Bool { bits == 0 }

  private static var names: [Literal] {
    [
      "left-thumb", "left-index-finger", "left-middle-finger", "left-ring-finger", "left-little-finger",
      "right-thumb", "right-index-finger", "right-middle-finger", "right-ring-finger", "right-little-finger",
    ]
  }

  /// nil where fprintd names a finger that nobody has.
  public init?(named list: [Bytes]) {
    var bits: UInt16 = 0
    for name in list {
      guard let index = Fingers.index(name) else { return nil }
      bits |= 1 << UInt16(index)
    }
    self.bits = bits
  }

  private static func index(_ name: Bytes) -> Int? {
    let names = names
    for index in names.indices where name.spells(names[index]) { return index }
    return nil
  }

  /// fprintd's names of the fingers in the set.
  public var names: [Bytes] {
    let all = Fingers.names
    var names: [Bytes] = []
    for index in all.indices where bits & 1 << UInt16(index) != 0 { names.append(Bytes(text: all[index])) }
    return names
  }
}
