/// An administrator's own list of codes that nobody on this machine may choose: the street number, the
/// postcode, the switchboard's number.
///
/// One code a line, 4 or 6 digits; blanks around it don't count, and `#` starts a comment. Anything else is an
/// error with its line, and no passcode can be chosen until it is mended: a list read in part would refuse
/// less than it says.
public struct WeakList: Equatable, Sendable {
  public static let largestFile = OptionParser.largestFile

  /// Ascending; a code's value, plus a million for six digits: 0123 and 000123 are different codes.
  private var entries: [UInt32] = []

  public init() {}

  /// - Parameter path: for errors only.
  public init(_ file: ArraySlice<UInt8>, path: Bytes) throws(OptionError) {
    guard file.count <= WeakList.largestFile else {
      throw OptionError(.fileTooLarge, at: .file(path, line: 1), text: [])
    }
    var line = 0
    for text in file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      line += 1
      let code = text.prefix { $0 != UInt8(ascii: "#") }.trimmed()
      if code.isEmpty { continue }
      guard Answer(code.span) == .passcode else {
        throw OptionError(
          .badValue(allowed: Bytes(text: "4 or 6 digits")), at: .file(path, line: line), text: Bytes(code))
      }
      entries.append(WeakList.entry(code.span))
    }
    entries.sort()
  }

  /// - Parameter code: 4 or 6 ASCII digits.
  func contains(_ code: Span<UInt8>) -> Bool {
    let wanted = WeakList.entry(code)
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low] == wanted
  }

  private static func entry(_ code: Span<UInt8>) -> UInt32 {
    UInt32(Weakness.number(code)) + (code.count == 6 ? 1_000_000 : 0)
  }
}
