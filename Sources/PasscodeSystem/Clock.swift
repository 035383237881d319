internal import CSystem
internal import PasscodeBytes

/// What time it is, by the clocks and by the kernel's name for this boot.
public enum SystemClock {
  /// Milliseconds since boot, with the time in suspend; nobody can set it. nil: no such clock.
  @inline(never)
  public static func bootMilliseconds() -> UInt64? {
    let now = cs_clock(CLOCK_BOOTTIME)
    return now == UInt64.max ? nil : now / 1_000_000
  }

  /// How long it is from one moment to a later one; 0 if the clock went back: nothing that waits may end its program.
  public static func elapsed(from start: UInt64, to end: UInt64) -> UInt64 {
    end > start ? end - start : 0
  }

  /// The kernel's text of this boot's random id, without its newline; read once a process.
  public static func bootID() throws(Errno) -> [UInt8] {
    var text = [UInt8](repeating: 0, count: 36)
    // SAFETY: these are the 36 bytes that both functions want.
    if unsafe cs_kept_boot_id(&text) != 0 { return text }
    let file = try Descriptor.open(Bytes(text: "/proc/sys/kernel/random/boot_id"), .read)
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
    let isToday =
      text(seconds, isLocal: true, "%Y-%m-%d") == text(wallSeconds(), isLocal: true, "%Y-%m-%d")
    return text(seconds, isLocal: true, isToday ? "%H:%M" : "%Y-%m-%d %H:%M")
  }

  /// A wall-clock time as RFC 3339 in UTC: "2026-01-31T12:00:00Z".
  public static func rfc3339(_ seconds: UInt64) -> [UInt8] {
    text(seconds, isLocal: false, "%Y-%m-%dT%H:%M:%SZ")
  }

  /// Nothing where it would take 32 bytes or more, or the calendar has no such moment. The corresponding C functions are
  /// `localtime_r`, `gmtime_r` and `strftime`.
  @inline(never)
  package static func text(_ seconds: UInt64, isLocal: Bool, _ format: StaticString) -> [UInt8] {
    var text = [UInt8](repeating: 0, count: 32)
    // SAFETY: a StaticString ends in NUL and lives for ever; strftime stays within the text's bytes.
    let format = unsafe UnsafeRawPointer(format.utf8Start).assumingMemoryBound(to: CChar.self)
    let length = unsafe cs_format_time(time_t(clamping: seconds), isLocal ? 1 : 0, format, &text, text.count)
    return shortened(text, to: length)
  }
}
