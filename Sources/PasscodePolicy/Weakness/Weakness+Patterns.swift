// What makes a code weak by its digits alone.
//
// Patterns come before the table because they hold for everybody: a leak's ranking differs from the next
// leak's, its patterns hardly do (Bonneau et al., "A Birthday Present Every Eleven Wallets?", FC 2012).
// All dates are not among them: they take 3 to 5 % of the space and gain nothing over the popular ones.

extension Weakness {
  /// - Parameter code: 4 or 6 ASCII digits.
  static func pattern(_ code: Span<UInt8>, year: Int) -> Weakness? {
    if let repetition = repetition(code) { return repetition }
    if isRun(code, 0, code.count) || isTwoRuns(code) { return .run }
    if isKeypadShape(code) { return .keypad }
    if isYear(code, upTo: year + 5) { return .year }
    return isSteppedPairs(code) ? .steppedPairs : nil
  }

  private static func repetition(_ code: Span<UInt8>) -> Weakness? {
    // 1111 is the same when it is rotated by 1, 1212 and 121212 by 2, 123123 by 3.
    if isRotated(code, code, by: 1) { return .sameDigit }
    if isRotated(code, code, by: 2) || code.count == 6 && isRotated(code, code, by: 3) { return .repeated }
    if isReversed(code, code, at: 0) { return .mirrored }
    if isDoubled(code) { return .doubled }
    return code.count == 6 && isAllButOne(code) ? .nearlySameDigit : nil
  }

  private static func isDoubled(_ code: Span<UInt8>) -> Bool {
    for index in 0..<code.count / 2 where code[2 * index] != code[2 * index + 1] { return false }
    return true
  }

  /// True if one digit stands at all places but one: 111112, 000700.
  private static func isAllButOne(_ code: Span<UInt8>) -> Bool {
    // Of three places, two at least must hold it.
    let common = code[0] == code[1] || code[0] == code[2] ? code[0] : code[1]
    var others = 0
    for index in code.indices where code[index] != common { others += 1 }
    return others == 1
  }

  /// Each digit the same step on from the one before it, 9 being followed by 0: 1234, 8642, 1357, 7890, 0369.
  private static func isRun(_ code: Span<UInt8>, _ start: Int, _ length: Int) -> Bool {
    let step = step(code, start)
    for index in start..<start + length - 1 where self.step(code, index) != step { return false }
    return true
  }

  /// 0 to 9: how far the next digit is on from this one.
  private static func step(_ code: Span<UInt8>, _ index: Int) -> Int {
    (digit(code, index + 1) - digit(code, index) + 10) % 10
  }

  /// Three digits up, down or the same, and three more: 123789, 321654, 111222, 123321.
  private static func isTwoRuns(_ code: Span<UInt8>) -> Bool {
    code.count == 6 && isShortRun(code, 0) && isShortRun(code, 3)
  }

  private static func isShortRun(_ code: Span<UInt8>, _ start: Int) -> Bool {
    let step = step(code, start)
    return (step == 0 || step == 1 || step == 9) && isRun(code, start, 3)
  }

  /// A year from 1900 on; in six digits, one with a month before or after it.
  private static func isYear(_ code: Span<UInt8>, upTo last: Int) -> Bool {
    let years = 1_900...last
    if code.count == 4 { return years.contains(number(code, 0, 4)) }
    return years.contains(number(code, 2, 4)) && (1...12).contains(number(code, 0, 2))
      || years.contains(number(code, 0, 4)) && (1...12).contains(number(code, 4, 2))
  }

  /// Four digits: one on (1213), or ten on between round tens (2030). Six: two equal steps of at most 25
  /// (102030, 121518, 504030); longer ones nobody sees.
  private static func isSteppedPairs(_ code: Span<UInt8>) -> Bool {
    let first = number(code, 0, 2)
    let step = number(code, 2, 2) - first
    if code.count == 6 { return abs(step) <= 25 && number(code, 4, 2) - number(code, 2, 2) == step }
    return step == 1 || first % 10 == 0 && abs(step) == 10
  }

  /// True if the first four digits are a day and a month, in either order: of four digits, or with a year
  /// of two digits after them. Day numbers are not checked against the month: nobody is helped by
  /// calling 3102 something else.
  static func readsAsDate(_ code: Span<UInt8>) -> Bool {
    let first = number(code, 0, 2)
    let second = number(code, 2, 2)
    return (1...12).contains(first) && (1...31).contains(second)
      || (1...31).contains(first) && (1...12).contains(second)
  }
}
