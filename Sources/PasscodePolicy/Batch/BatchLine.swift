/// One line of a list of users, for a batch.
///
///     line       user                     where no passcode belongs there
///                user ":" passcode        where one does; 4 or 6 digits
///                "#" anything, or empty   nothing
///     user       1 to 255 bytes; no blank, no control character, no ":"
///
/// What a bad line says MUST NOT be told: it may be a passcode. It is named by its number.   BatchLineTests, FuzzBatch
public enum BatchLine: Equatable, Sendable {
  /// A passcode, where the form has one, begins behind the name and the colon.
  case user(Bytes)
  case nothing
  case bad(Problem)

  public enum Form: Equatable, Sendable {
    case user, userAndPasscode
  }

  public enum Problem: Equatable, Sendable {
    case tooLong, noUser, noPasscode, surplusPasscode, notDigits
    /// As Windows ends a line.
    case carriageReturn
  }

  private static let longestName = 255

  /// - Parameter line: without its newline.
  public init(_ line: Span<UInt8>, _ form: Form) {
    guard line.count > 0, line[0] != UInt8(ascii: "#") else {
      self = .nothing
      return
    }
    var name = Bytes()
    for index in line.indices {
      guard line[index] != UInt8(ascii: ":") else { break }
      name.append(line[index])
    }
    if let problem = BatchLine.problem(name, line, form) { self = .bad(problem) } else { self = .user(name) }
  }

  private static func problem(_ name: Bytes, _ line: Span<UInt8>, _ form: Form) -> Problem? {
    if line[line.count - 1] == UInt8(ascii: "\r") { return .carriageReturn }
    guard 1...longestName ~= name.count, name.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return .noUser }
    let hasPasscode = name.count < line.count
    switch form {
    case .user: return hasPasscode ? .surplusPasscode : nil
    case .userAndPasscode:
      guard hasPasscode else { return .noPasscode }
      return Answer(line.extracting((name.count + 1)...)) == .passcode ? nil : .notDigits
    }
  }
}
