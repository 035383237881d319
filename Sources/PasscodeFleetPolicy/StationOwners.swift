public import PasscodePolicy

/// Who was let in at a workstation lately, by their own passcodes; the last one at the end:
///
///     3f0c9a12bb017e55 20785       who, by a digest under the fleet key; the day, counted from 1970
///
/// Of a workstation's wrong passcodes only a part may be typed for anybody else (`FleetOptions.strangersLimit`): then a
/// visitor who doesn't know who works there doesn't stop those who do. Nothing else depends on the list: one that can't be
/// read is empty.
///
/// - A server whose clock is wrong MUST NOT empty it: entries are dropped for want of room only, never because of their day.
///   One that is dated after tomorrow doesn't count.                                                 StationOwnersTests
public struct StationOwners: Equatable, Sendable {
  private struct Entry: Equatable {
    let mark: Bytes
    let day: UInt64
  }

  /// Bytes of a digest.
  public static let markLength = 8
  public static let most = 64
  /// How many days somebody's last login counts.
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

  public func contains(_ mark: Bytes, today: UInt64) -> Bool {
    for entry in entries where entry.mark == mark { return StationOwners.lasts(entry, today) }
    return false
  }

  /// The list with somebody who is let in today; nil if it says that already. Where there are `most`, the first one goes.
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
