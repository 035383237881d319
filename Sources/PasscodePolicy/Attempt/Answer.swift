/// What somebody typed at the prompt.
public enum Answer: Equatable, Sendable {
  /// 4 or 6 ASCII digits: an attempt, whatever length is enrolled (skipping the other length would tell
  /// which one it is) and whatever lengths are configured (those govern the choosing of new ones).
  case passcode
  /// Just Enter: "something else, please".
  case empty
  /// Anything else: a password, a slip, somebody's 10,000 bytes.
  case other

  /// - Parameter bytes: what was typed, without a newline; any length.
  public init(_ bytes: Span<UInt8>) {
    if bytes.count == 0 {
      self = .empty
    } else {
      let areDigits = bytes.indices.allSatisfy { isDigit(bytes[$0]) }
      self = areDigits && Answer.isLength(bytes.count) ? .passcode : .other
    }
  }

  /// Whether a passcode can have so many digits.
  public static func isLength(_ count: Int) -> Bool {
    count == 4 || count == 6
  }
}

/// A one-time code of a fleet: 8 letters, each drawn uniformly from 24. Its rules are in KeptCode.swift.   OneTimeCodeTests
public enum OneTimeCode {
  public static let length = 8
  /// No I and no O, which look like 1 and 0.
  public static var letters: Bytes { Bytes(text: "ABCDEFGHJKLMNPQRSTUVWXYZ") }

  /// Whether these are the bytes of a one-time code, as they are hashed.
  public static func isCode(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count == length else { return false }
    let letters = letters
    for index in bytes.indices where !letters.contains(bytes[index]) { return false }
    return true
  }
}
