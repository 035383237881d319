/// The reasons for which a new passcode is refused as weak.
///
/// A lockout gives ten guesses; what they are worth is decided here. Unrestricted, the best ten open 14 to
/// 23 % of accounts; lists of the size that phones have help little, and about a tenth of the 4-digit space
/// is where refusing more stops paying (Markert et al., "This PIN Can Be Easily Guessed", IEEE S&P 2020).
/// NIST SP 800-63B asks for the same: compare with values known to be common or expected, and say why.
public enum Weakness: UInt8, CaseIterable, Sendable {
  // The numbers go from the helper to its caller: one is never given another meaning. 1 is `Choice.Refusal.length`.
  /// 1111
  case sameDigit = 2
  /// 111112: five of six.
  case nearlySameDigit = 3
  /// 1212, 121212, 123123
  case repeated = 4
  /// 1221, 123321
  case mirrored = 5
  /// 1122, 112233
  case doubled = 6
  /// 1234, 9876, 1357, 8901; in six digits also two short ones, 123789
  case run = 7
  /// 2580, 1478, 1379, 147258
  case keypad = 8
  /// 1987; with a month, 051987 and 198705
  case year = 9
  /// 1213, 2030, 102030, 121518
  case steppedPairs = 10
  /// One of the popular dates, in the table.
  case date = 11
  /// The code is in the table of popular codes, and is no date.
  case popularFour = 12
  case popularSix = 13

  // Found in what the system knows about the account.
  case phone = 14
  case room = 15
  case fullName = 16
  case userName = 17
  case userID = 18
  case spelledName = 19
  case home = 20
  case nameYear = 21
  case details = 22

  /// Found in the administrator's list.
  case siteList = 23

  // The new passcode is too similar to the old one.
  case sameAsOld = 24
  case oldReversed = 25
  case oldRotated = 26
  case oldByOne = 27
  case oldContained = 28
}

/// What a code is judged by besides its own digits.
public struct Surroundings: Sendable {
  /// The current year, kept in `years`.
  let year: Int
  let person: PersonalData
  let site: WeakList

  /// Fixed years: a wrong clock doesn't make 1999 a good code. The table must be regenerated before its rules for
  /// years exceed the share of codes that may be refused.
  static let years = 2025...2040

  /// - Parameter now: seconds since 1970, UTC.
  public init(now: UInt64, person: PersonalData = PersonalData(), site: WeakList = WeakList()) {
    // The mean Gregorian year; off by hours at New Year's Eve, which no rule minds.
    let year = 1_970 + min(now / 31_556_952, 1_000)
    self.year = min(max(Int(year), Surroundings.years.lowerBound), Surroundings.years.upperBound)
    self.person = person
    self.site = site
  }
}

extension Weakness {
  /// The first reason to refuse a code, or nil if it isn't weak.
  ///
  /// The code is read where it is: no memory is taken for it, so nothing is left to wipe.
  ///
  /// - Parameter code: 4 or 6 ASCII digits. Anything else is nobody's passcode, and gets nil.
  public static func of(_ code: Span<UInt8>, in surroundings: Surroundings) -> Weakness? {
    guard Answer(code) == .passcode else { return nil }
    if let pattern = pattern(code, year: surroundings.year) { return pattern }
    if let found = surroundings.person.weakness(of: code) { return found }
    if surroundings.site.contains(code) { return .siteList }
    guard isPopular(code) else { return nil }
    if readsAsDate(code) { return .date }
    return code.count == 4 ? .popularFour : .popularSix
  }

  /// The number that `length` digits from `start` on spell.
  @inline(__always)
  static func number(_ code: Span<UInt8>, _ start: Int, _ length: Int) -> Int {
    var value = 0
    for index in start..<start + length { value = value * 10 + digit(code, index) }
    return value
  }

  @inline(__always)
  static func digit(_ code: Span<UInt8>, _ index: Int) -> Int {
    Int(code[index] & 15)  // an ASCII digit's low four bits are its value
  }

  /// True for the codes of the generated tables: those that leaks show to be popular and no pattern covers.
  ///
  /// The tables are read-only constants, and gone from a program that never asks.
  ///
  /// - Parameter code: 4 or 6 ASCII digits.
  static func isPopular(_ code: Span<UInt8>) -> Bool {
    let value = number(code, 0, code.count)
    // One bit a code.
    if code.count == 4 { return PopularCodes.four[value / 64] >> UInt64(value % 64) & 1 == 1 }
    // The low 16 bits of each code, ascending, in 16 groups by the bits above them.
    let wanted = UInt16(truncatingIfNeeded: value)
    var low = Int(PopularCodes.sixGroups[value >> 16])
    let end = Int(PopularCodes.sixGroups[value >> 16 + 1])
    var high = end
    while low < high {
      let middle = (low + high) / 2
      if PopularCodes.six[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    return low < end && PopularCodes.six[low] == wanted
  }

  /// What a new passcode is to the old one, if a person who knows the old one would try it first; else nil.
  ///
  /// Nothing about the old one is kept, so this can be asked only when it has just been typed.
  ///
  /// - Parameters: 4 or 6 ASCII digits each, of which nothing is copied.
  public static func variation(_ new: Span<UInt8>, of old: Span<UInt8>) -> Weakness? {
    guard Answer(new) == .passcode, Answer(old) == .passcode else { return nil }
    guard new.count == old.count else {
      return new.count > old.count ? contained(old, in: new) : contained(new, in: old)
    }
    if distance(new, old) == 0 { return .sameAsOld }
    if isReversed(new, old, at: 0) { return .oldReversed }
    if isRotated(new, old) { return .oldRotated }
    return distance(new, old) == 1 ? .oldByOne : nil
  }

  /// The steps of one, 9 and 0 being neighbours, between two codes of one length; more than 1 is not told apart.
  private static func distance(_ new: Span<UInt8>, _ old: Span<UInt8>) -> Int {
    var distance = 0
    for index in new.indices where new[index] != old[index] {
      let steps = (digit(new, index) - digit(old, index) + 10) % 10
      distance += steps == 1 || steps == 9 ? 1 : 2
    }
    return distance
  }

  private static func isRotated(_ new: Span<UInt8>, _ old: Span<UInt8>) -> Bool {
    for shift in 1..<old.count where isRotated(new, old, by: shift) { return true }
    return false
  }

  static func isRotated(_ new: Span<UInt8>, _ old: Span<UInt8>, by shift: Int) -> Bool {
    for index in new.indices where new[index] != old[(index + shift) % old.count] { return false }
    return true
  }

  /// 2704 in 270419, 192704 and 127049; backwards, too.
  private static func contained(_ short: Span<UInt8>, in long: Span<UInt8>) -> Weakness? {
    for start in 0...long.count - short.count {
      if isEqual(short, long, at: start) || isReversed(short, long, at: start) { return .oldContained }
    }
    return nil
  }

  static func isEqual(_ short: Span<UInt8>, _ long: Span<UInt8>, at start: Int) -> Bool {
    for index in short.indices where short[index] != long[start + index] { return false }
    return true
  }

  static func isReversed(_ short: Span<UInt8>, _ long: Span<UInt8>, at start: Int) -> Bool {
    for index in short.indices where short[index] != long[start + short.count - 1 - index] { return false }
    return true
  }
}
