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
  private struct Entry: Equatable {
    let mark: Bytes
    let day: UInt64
  }

  /// Bytes of a digest.
  public static let markLength = 8
  public static let most = 64
  /// How many days an accepted passcode counts.
  public static let days: UInt64 = 30

  private var entries: [Entry] = []

  public init() {}

  /// nil unless the input is well-formed and complete.
  public init?(_ value: Bytes) {
    if value.isEmpty { return }
    for line in value.dropLast().parts(between: UInt8(ascii: "\n")) {
      guard let blank = line.firstIndex(of: UInt8(ascii: " ")), let mark = bytes(hexadecimal: line[..<blank]),
        mark.count == StationOwners.markLength, let day = decimal(line[(blank + 1)...])
      else { return nil }
      entries.append(Entry(mark: mark, day: day))
    }
    guard entries.count <= StationOwners.most, encoded == value else { return nil }
  }

  public var encoded: Bytes {
    var bytes = Bytes()
    for entry in entries { bytes += Text("\(hexadecimal(entry.mark)) \(entry.day)\n").bytes }
    return bytes
  }

  /// Whether this is an owner.
  public func contains(_ mark: Bytes, today: UInt64) -> Bool {
    for entry in entries where entry.mark == mark { return StationOwners.lasts(entry, today) }
    return false
  }

  /// The list with this person added as of today; nil if already there, of today or tomorrow. A full list drops its oldest
  /// entry.
  public func adding(_ mark: Bytes, today: UInt64) -> StationOwners? {
    var owners = StationOwners()
    for entry in entries {
      if entry.mark != mark {
        owners.entries.append(entry)
      } else if entry.day == today || entry.day == today + 1 {
        return nil
      }
    }
    if owners.entries.count == StationOwners.most { owners.entries.removeFirst() }
    owners.entries.append(Entry(mark: mark, day: today))
    return owners
  }

  private static func lasts(_ entry: Entry, _ today: UInt64) -> Bool {
    today < entry.day ? entry.day - today == 1 : today - entry.day <= days
  }
}
