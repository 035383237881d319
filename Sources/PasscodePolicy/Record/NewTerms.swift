/// The terms that an administrator asks for when giving out a passcode: `--expires` and `--must-change`.
public struct NewTerms: Equatable, Sendable {
  /// How long it is valid, `shortest` to `longest`; 0: `until` decides.
  public var seconds: UInt64 = 0
  /// Until when it is valid, by the wall clock, seconds since 1970; 0: for ever.
  public var until: UInt64 = 0
  /// Whether the passcode opens only one login.
  public var mustChange = false

  public init() {}

  public var expires: Bool { seconds > 0 || until > 0 }

  /// How long it is valid from now on, in seconds; 0: for ever.
  ///
  /// - Parameter wall: seconds since 1970.
  public func secondsLeft(wall: UInt64) -> UInt64 {
    until > 0 ? until - min(until, wall) : seconds
  }

  /// Seconds: a minute.
  public static let shortest: UInt64 = 60
  /// Seconds: ten years.
  public static let longest: UInt64 = 3_650 * 86_400

  /// Seconds in a text like `90m`, `12h`, `7d` or `2w` (`duration`); nil for anything else, below `shortest` and above
  /// `longest`.
  public static func seconds(_ text: Bytes) -> UInt64? {
    guard let seconds = duration(text[...], upTo: longest), seconds >= shortest else { return nil }
    return seconds
  }
}

/// A minute or the end of a day in local time, as `--expires` takes it: `2026-12-31T18:30`, `2026-12-31`.
public struct LocalMoment: Equatable, Sendable {
  public let year: Int
  public let month: Int
  public let day: Int
  /// Since the day began, 0 to 1,440: that is its end.
  public let minutes: Int

  /// nil for any other text. Whether the month has that day it doesn't say.
  public init?(_ text: Bytes) {
    guard text.count == 10 || text.count == 16, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
      let year = number(text[..<4]), let month = number(text[5..<7]), let day = number(text[8..<10])
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
    guard text.count == 16 else {
      minutes = 1_440
      return
    }
    guard text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), let hour = number(text[11..<13]),
      hour < 24, let minute = number(text[14...]), minute < 60
    else { return nil }
    minutes = hour * 60 + minute
  }
}

/// The number that decimal digits spell, leading zeros allowed.
private func number(_ digits: ArraySlice<UInt8>) -> Int? {
  var number = 0
  for digit in digits {
    guard isDigit(digit) else { return nil }
    number = number * 10 + Int(digit - UInt8(ascii: "0"))
  }
  return number
}

extension Terms {
  /// Terms that begin now, for a passcode that is being set.
  ///
  /// - Parameter wall: now, by the wall clock; seconds since 1970.
  public init(_ new: NewTerms, now: Instant, wall: UInt64) {
    let change = new.mustChange ? Change.afterLogin : .notNeeded
    if new.expires {
      self.init(
        change: change, expiry: new.until > 0 ? new.until : wall + min(new.seconds, .max - wall),
        seenTime: wall,
        seenAt: now)
    } else {
      self.init(change: change, expiry: 0, seenTime: 0, seenAt: .never)
    }
  }

  /// The same, but that the owner must choose another passcode after one more login.
  public func afterOneLogin() -> Terms {
    change == .notNeeded
      ? Terms(change: .afterLogin, expiry: expiry, seenTime: seenTime, seenAt: seenAt) : self
  }
}
