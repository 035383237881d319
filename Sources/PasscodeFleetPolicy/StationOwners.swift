public import PasscodePolicy

/// The people whose passcodes were accepted at a workstation, the most recent last:
///
///     3f0c9a12bb017e55 20785       who, by a digest under the fleet key; the day, counted from 1970
///
/// An *owner* is somebody whose passcode was accepted there in the last 30 days; anybody else is a *stranger*. Only part of a
/// workstation's wrong passcodes may be for strangers (`FleetOptions.strangersLimit`), so a visitor who knows none of the
/// people who work there can't lock them out. Nothing else depends on the list: one that can't be read is empty.
///
/// - A server whose clock is wrong MUST NOT empty it: an entry is dropped only to make room, never because of its date. An
///   entry dated later than tomorrow doesn't count.                                                  StationOwnersTests
public struct StationOwners: Equatable, Sendable {
  /// Bytes of a digest.
  public static let markLength = 8
  public static let most = 64
  /// How many days an accepted passcode counts.
  public static let days: UInt64 = 30

  /// The lines, each ended by a newline.
  public private(set) var encoded = Bytes()

  public init() {}

  /// nil unless the input is well-formed and complete.
  public init?(_ value: Bytes) {
    var count = 0
    for line in StationOwners.lines(value) {
      guard let (mark, day) = StationOwners.read(line) else { return nil }
      encoded += StationOwners.line(mark, day)
      count += 1
    }
    guard count <= StationOwners.most, encoded == value else { return nil }
  }

  /// Whether the person with this digest is an owner.
  public func contains(_ mark: Bytes, today: UInt64) -> Bool {
    for line in StationOwners.lines(encoded) {
      guard let (found, day) = StationOwners.read(line), found == mark else { continue }
      if today < day ? day - today == 1 : today - day <= StationOwners.days { return true }
    }
    return false
  }

  /// The list with this person added as of today; nil if already there, of today or tomorrow. A full list drops its oldest
  /// entry.
  public func adding(_ mark: Bytes, today: UInt64) -> StationOwners? {
    var (kept, count) = (Bytes(), 0)
    for line in StationOwners.lines(encoded) {
      guard let (found, day) = StationOwners.read(line) else { continue }
      if found != mark {
        kept += line + [UInt8(ascii: "\n")]
        count += 1
      } else if day == today || day == today + 1 {
        return nil
      }
    }
    if count == StationOwners.most { kept = Bytes(kept.drop { $0 != UInt8(ascii: "\n") }.dropFirst()) }
    var owners = StationOwners()
    owners.encoded = kept + StationOwners.line(mark, today)
    return owners
  }

  private static func lines(_ value: Bytes) -> [ArraySlice<UInt8>] {
    value.isEmpty ? [] : value.dropLast().parts(between: UInt8(ascii: "\n"))
  }

  private static func line(_ mark: Bytes, _ day: UInt64) -> Bytes {
    Text("\(hexadecimal(mark)) \(day)\n").bytes
  }

  private static func read(_ line: ArraySlice<UInt8>) -> (mark: Bytes, day: UInt64)? {
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")), let mark = bytes(hexadecimal: line[..<blank]),
      mark.count == StationOwners.markLength, let day = decimal(line[(blank + 1)...])
    else { return nil }
    return (mark, day)
  }
}
