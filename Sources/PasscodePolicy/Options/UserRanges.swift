/// Some users, by ranges of their uids: `1000-59999,70000` or `1000-`.
///
/// - Root is in none: a text that names uid 0 is not taken.                                    FleetTests
public struct UserRanges: Equatable, Sendable {
  /// Ranges that a text can have.
  public static let most = 16
  /// The highest number of a user; the one above it means "nobody" to the kernel.
  private static let highest = UInt64(UInt32.max) - 1

  /// As it was written: it is read again each time, which takes less code than a list.
  private let text: Bytes

  /// - Returns: nil unless each range is a uid, two with `-` between them, or one with `-` after it; all of them from 1
  ///   to 4,294,967,294.
  public init?(_ text: ArraySlice<UInt8>) {
    var count = 0
    let isSound = text.allParts(between: UInt8(ascii: ",")) {
      count += 1
      return count <= UserRanges.most && UserRanges.range($0) != nil
    }
    guard isSound else { return nil }
    self.text = Bytes(text)
  }

  private init(written text: Bytes) {
    self.text = text
  }

  static var people: UserRanges { UserRanges(written: Bytes(text: "1000-")) }

  /// Whether the ranges contain a user id.
  public func contain(_ uid: UInt32) -> Bool {
    !text[...].allParts(between: UInt8(ascii: ",")) {
      guard let range = UserRanges.range($0) else { return true }
      return !range.contains(UInt64(uid))
    }
  }

  @inline(never)
  private static func range(_ part: ArraySlice<UInt8>) -> ClosedRange<UInt64>? {
    let dash = part.firstIndex(of: UInt8(ascii: "-"))
    guard let first = decimal(part[..<(dash ?? part.endIndex)]), first >= 1 else { return nil }
    var last = first
    if let dash {
      let end = part[(dash + 1)...]
      guard let number = end.isEmpty ? highest : decimal(end) else { return nil }
      last = number
    }
    return last <= highest && first <= last ? first...last : nil
  }
}
