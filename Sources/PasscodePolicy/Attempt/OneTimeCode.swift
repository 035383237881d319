/// A one-time code of a fleet: 8 letters, each drawn uniformly from 24. Its rules are in KeptCode.swift.   OneTimeCodeTests
public enum OneTimeCode {
  public static let length = 8
  /// No I and no O, which look like 1 and 0.
  public static var letters: Bytes { Bytes(text: "ABCDEFGHJKLMNPQRSTUVWXYZ") }

  /// Whether these are the bytes of a code, as they are hashed.
  public static func isCode(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count == length else { return false }
    let letters = letters
    for index in bytes.indices where !letters.contains(bytes[index]) { return false }
    return true
  }
}
