/// An administrator's list of codes that nobody on this machine may choose, such as the street number or the postcode.
///
/// One code a line, 4 or 6 digits; blanks around it don't count, and `#` starts a comment. Anything else is an error, and
/// no passcode can be chosen until it is fixed: a list read in part would refuse less than it says.
public struct WeakList: Equatable, Sendable {
  /// One bit a code, those of four digits first: 0123 and 000123 are different codes. Empty: there are none.
  private var codes: [UInt64] = []

  public init() {}

  /// - Parameter path: for errors only.
  public init(_ file: ArraySlice<UInt8>, path: Bytes) throws(Fault) {
    guard file.count <= OptionParser.largestFile else {
      throw Fault(.fileTooLarge, path: path, number: 1)
    }
    var line: UInt64 = 0
    for text in file.parts(between: UInt8(ascii: "\n")) {
      line += 1
      let code = text.prefix { $0 != UInt8(ascii: "#") }.trimmed()
      if code.isEmpty { continue }
      guard Answer(code.span) == .passcode else {
        throw Fault(.badCode, path: path, name: shown(code), number: line)
      }
      if codes.isEmpty { codes = [UInt64](repeating: 0, count: (10_000 + 1_000_000) / 64 + 1) }
      let place = WeakList.place(code.span)
      codes[place / 64] |= 1 << UInt64(place % 64)
    }
  }

  /// What begins a line like a code: some other file of root's may have been named, such as a key.
  private func shown(_ text: ArraySlice<UInt8>) -> Bytes {
    Bytes(text.prefix { isDigit($0) || $0 == UInt8(ascii: " ") }.prefix(12))
  }

  /// - Parameter code: 4 or 6 ASCII digits.
  func contains(_ code: Span<UInt8>) -> Bool {
    let place = WeakList.place(code)
    return !codes.isEmpty && codes[place / 64] >> UInt64(place % 64) & 1 == 1
  }

  private static func place(_ code: Span<UInt8>) -> Int {
    Weakness.number(code, 0, code.count) + (code.count == 6 ? 10_000 : 0)
  }
}
