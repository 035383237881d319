extension Weakness {
  /// True for the codes of the generated tables: those that leaks show to be popular and no pattern covers.
  ///
  /// The tables are constants that the compiler lays out: read-only, nothing to initialise, and gone from a
  /// program that never asks.
  ///
  /// - Parameter code: 4 or 6 ASCII digits.
  static func isPopular(_ code: Span<UInt8>) -> Bool {
    let value = number(code)
    return code.count == 4 ? isPopular(four: value) : isPopular(six: value)
  }

  /// One bit a code.
  private static func isPopular(four value: Int) -> Bool {
    PopularCodes.four[value / 64] >> UInt64(value % 64) & 1 == 1
  }

  /// The low 16 bits of each code, ascending, in 16 groups by the bits above them.
  private static func isPopular(six value: Int) -> Bool {
    let wanted = UInt16(truncatingIfNeeded: value)
    var low = Int(PopularCodes.sixGroups[value >> 16])
    let end = Int(PopularCodes.sixGroups[value >> 16 + 1])
    var high = end
    while low < high {
      let middle = (low + high) / 2
      if PopularCodes.six[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    return low < end && PopularCodes.six[low] == wanted
  }
}
