/// One line of a list of users, for a batch.
///
///     line       user                     where no passcode belongs there
///                user ":" passcode        where one does; 4 or 6 digits
///                "#" anything, or empty   nothing
///     user       1 to 255 bytes; no blank, no control character, no ":"
///
/// The content of a bad line MUST NOT be shown, because it may be a passcode: the line is named by its number.
///                                                                               BatchLineTests, FuzzBatch
public enum BatchLine: Equatable, Sendable {
  /// If the form has a passcode, it begins after the name and the colon.
  case user(Bytes)
  case nothing
  case bad(Problem)

  public enum Form: Equatable, Sendable {
    case user, userAndPasscode
  }

  public enum Problem: Equatable, Sendable {
    case tooLong, noUser, noPasscode, surplusPasscode, notDigits
    /// The line ends as on Windows.
    case carriageReturn
  }

  private static let longestName = 255

  /// - Parameter line: without its newline.
  public init(_ line: Span<UInt8>, _ form: Form) {
    guard line.count > 0, line[0] != UInt8(ascii: "#") else {
      self = .nothing
      return
    }
    var length = 0
    while length < line.count, line[length] != UInt8(ascii: ":") { length += 1 }
    if let problem = BatchLine.problem(length, line, form) {
      self = .bad(problem)
    } else {
      // Only here, where it is a name, is anything of it copied.
      self = .user((0..<length).map { line[$0] })
    }
  }

  /// - Parameter length: bytes before the colon, where the name belongs.
  private static func problem(_ length: Int, _ line: Span<UInt8>, _ form: Form) -> Problem? {
    if line[line.count - 1] == UInt8(ascii: "\r") { return .carriageReturn }
    guard 1...longestName ~= length, (0..<length).allSatisfy({ line[$0] > 0x20 && line[$0] != 0x7f }) else {
      return .noUser
    }
    let hasPasscode = length < line.count
    switch form {
    case .user: return hasPasscode ? .surplusPasscode : nil
    case .userAndPasscode:
      guard hasPasscode else { return .noPasscode }
      return Answer(line.extracting((length + 1)...)) == .passcode ? nil : .notDigits
    }
  }
}
