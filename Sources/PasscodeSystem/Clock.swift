internal import CSystem

/// What time it is, by the clocks and by the kernel's name for this boot.
public enum SystemClock {
  /// Milliseconds since boot, with the time in suspend; nobody can set it. nil: no such clock.
  public static func bootMilliseconds() -> UInt64? {
    let now = cs_clock(CLOCK_BOOTTIME)
    return now == UInt64.max ? nil : now / 1_000_000
  }

  /// How long it is from one moment to a later one; 0 if the clock went back: nothing that waits may end its program.
  public static func elapsed(from start: UInt64, to end: UInt64) -> UInt64 {
    end > start ? end - start : 0
  }

  /// The kernel's text of this boot's random id, without its newline. Read once: it doesn't change while a
  /// process lives.
  public static func bootID() throws(Errno) -> [UInt8] {
    var text = [UInt8](repeating: 0, count: 36)
    // SAFETY: these are the 36 bytes that both functions want.
    if unsafe cs_kept_boot_id(&text) != 0 { return text }
    let file = try Descriptor.open(literal("/proc/sys/kernel/random/boot_id"), .read)
    text = try file.read(36, at: 0)
    if text.count == 36 { unsafe cs_keep_boot_id(text) }
    return text
  }

  /// Seconds since 1970 by the wall clock, for people to read; 0 before 1970.
  public static func wallSeconds() -> UInt64 {
    let now = cs_clock(CLOCK_REALTIME)
    return now == UInt64.max ? 0 : now / 1_000_000_000
  }

  /// Sleeps; a signal may end it early. The corresponding C function is `nanosleep`.
  ///
  /// - Precondition: less than a second.
  public static func sleep(microseconds: Int) {
    cs_sleep(timespec(tv_sec: 0, tv_nsec: microseconds * 1_000))
  }

  /// A wall-clock time for a sentence, local: "03:12" of today, or "2026-01-31 03:12".
  public static func localMoment(_ seconds: UInt64) -> [UInt8] {
    let isToday = local(seconds, "%Y-%m-%d") == local(wallSeconds(), "%Y-%m-%d")
    return local(seconds, isToday ? "%H:%M" : "%Y-%m-%d %H:%M")
  }

  /// A wall-clock time for people, local and with its zone: "2026-01-31 13:00:00 CET".
  public static func localTime(_ seconds: UInt64) -> [UInt8] {
    local(seconds, "%Y-%m-%d %H:%M:%S %Z")
  }

  /// The corresponding C function is `localtime_r`.
  private static func local(_ seconds: UInt64, _ format: StaticString) -> [UInt8] {
    var parts = unsafe tm()
    var time = time_t(clamping: seconds)
    // SAFETY: localtime_r fills the parts it is given.
    return unsafe localtime_r(&time, &parts) == nil ? [] : unsafe text(&parts, format)
  }

  /// A local time as seconds since 1970; nil: the calendar has no such day. The corresponding C function is `mktime`.
  ///
  /// - Parameter minutes: since the day began, 0 to 1,440.
  public static func seconds(year: Int, month: Int, day: Int, minutes: Int) -> UInt64? {
    let seconds = cs_local_seconds(Int32(year), Int32(month), Int32(day), Int32(minutes))
    return seconds > 0 ? UInt64(seconds) : nil
  }

  /// A wall-clock time as RFC 3339 in UTC: "2026-01-31T12:00:00Z". The corresponding C function is `gmtime_r`.
  public static func rfc3339(_ seconds: UInt64) -> [UInt8] {
    var parts = unsafe tm()
    var time = time_t(clamping: seconds)
    // SAFETY: gmtime_r fills the parts it is given.
    return unsafe gmtime_r(&time, &parts) == nil ? [] : unsafe text(&parts, "%Y-%m-%dT%H:%M:%SZ")
  }

  /// Nothing where it would take 32 bytes or more. The corresponding C function is `strftime`.
  private static func text(_ parts: inout tm, _ format: StaticString) -> [UInt8] {
    var text = [CChar](repeating: 0, count: 32)
    let length = unsafe withCString(literal(format)) { format in
      // SAFETY: strftime stays within the text's 32 bytes.
      unsafe strftime(&text, text.count, format, &parts)
    }
    // SAFETY: it ends in NUL, unless there is nothing.
    return unsafe length > 0 ? bytes(text) : []
  }
}
