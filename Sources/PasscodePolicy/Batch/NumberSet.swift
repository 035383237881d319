/// Numbers that were seen: at most 16 bytes for each. `Set` would add its hashing code, which is larger than all the rest
/// of the batch code.
public struct NumberSet: Sendable {
  /// Each number plus 1, at its own place or the next free one after it; 0: free.
  private var table = [UInt32](repeating: 0, count: 64)
  private var count = 0

  public init() {}

  /// - Parameter number: below 2^32 - 1.
  /// - Returns: false if it was there already.
  public mutating func insert(_ number: UInt32) -> Bool {
    if count * 2 >= table.count { grow() }
    let isNew = NumberSet.put(number &+ 1, &table)
    count += isNew ? 1 : 0
    return isNew
  }

  private mutating func grow() {
    var larger = [UInt32](repeating: 0, count: table.count * 2)
    for entry in table where entry != 0 { _ = NumberSet.put(entry, &larger) }
    table = larger
  }

  private static func put(_ entry: UInt32, _ table: inout [UInt32]) -> Bool {
    // Fibonacci hashing: the high bits depend on all bits of the number, so uids at regular distances don't collide.
    var place = Int((entry &* 2_654_435_769) >> UInt32(32 - table.count.trailingZeroBitCount))
    while table[place] != 0 {
      if table[place] == entry { return false }
      place = (place + 1) & (table.count - 1)
    }
    table[place] = entry
    return true
  }
}
