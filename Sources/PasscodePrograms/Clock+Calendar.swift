internal import CSystem
public import PasscodeSystem

// Times that the tools show and take.

extension SystemClock {
  /// A wall-clock time for people, local and with its zone: "2026-01-31 13:00:00 CET".
  public static func localTime(_ seconds: UInt64) -> [UInt8] {
    text(seconds, isLocal: true, "%Y-%m-%d %H:%M:%S %Z")
  }

  /// A local time as seconds since 1970; nil: the calendar has no such day. The corresponding C function is `mktime`.
  ///
  /// - Parameter minutes: since the day began, 0 to 1,440.
  public static func seconds(year: Int, month: Int, day: Int, minutes: Int) -> UInt64? {
    let seconds = cs_local_seconds(Int32(year), Int32(month), Int32(day), Int32(minutes))
    return seconds > 0 ? UInt64(seconds) : nil
  }
}
