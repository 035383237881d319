extension Weakness.Variation {
  /// What a new passcode is to the old one, if it is something that a person who knows the old one tries first;
  /// nil if it is none of these.
  ///
  /// Both are needed in the clear, so this can be asked only while the old one has just been typed: nothing
  /// about it is kept.
  ///
  /// - Parameters: 4 or 6 ASCII digits each, of which nothing is copied.
  public static func of(_ new: Span<UInt8>, from old: Span<UInt8>) -> Weakness.Variation? {
    guard Answer(new) == .passcode, Answer(old) == .passcode else { return nil }
    guard new.count == old.count else {
      return new.count > old.count ? contained(old, in: new) : contained(new, in: old)
    }
    if distance(new, old) == 0 { return .same }
    if isReversed(new, old, at: 0) { return .reversed }
    if isRotated(new, old) { return .rotated }
    return distance(new, old) == 1 ? .oneDigitByOne : nil
  }

  /// How many steps of one, 9 and 0 being neighbours, lie between two codes of one length; more than 1 is
  /// not told apart.
  private static func distance(_ new: Span<UInt8>, _ old: Span<UInt8>) -> Int {
    var distance = 0
    for index in new.indices where new[index] != old[index] {
      let steps = (Weakness.digit(new, index) - Weakness.digit(old, index) + 10) % 10
      distance += steps == 1 || steps == 9 ? 1 : 2
    }
    return distance
  }

  private static func isRotated(_ new: Span<UInt8>, _ old: Span<UInt8>) -> Bool {
    for shift in 1..<old.count where isRotated(new, old, by: shift) { return true }
    return false
  }

  private static func isRotated(_ new: Span<UInt8>, _ old: Span<UInt8>, by shift: Int) -> Bool {
    for index in new.indices where new[index] != old[(index + shift) % old.count] { return false }
    return true
  }

  /// 2704 in 270419, 192704 and 127049; backwards, too.
  private static func contained(_ short: Span<UInt8>, in long: Span<UInt8>) -> Weakness.Variation? {
    for start in 0...long.count - short.count {
      if isEqual(short, long, at: start) || isReversed(short, long, at: start) { return .contained }
    }
    return nil
  }

  private static func isEqual(_ short: Span<UInt8>, _ long: Span<UInt8>, at start: Int) -> Bool {
    for index in short.indices where short[index] != long[start + index] { return false }
    return true
  }

  private static func isReversed(_ short: Span<UInt8>, _ long: Span<UInt8>, at start: Int) -> Bool {
    for index in short.indices where short[index] != long[start + short.count - 1 - index] { return false }
    return true
  }
}
