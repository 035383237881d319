/// The cost of hashing that suits a machine.                                                 CalibrationTests
public enum Calibration {
  /// Bytes: below this, passes are reduced instead of memory.
  private static let leastMemory: UInt64 = 8 << 20
  /// As RFC 9106 recommends: three passes, and more memory rather than more passes.
  private static let usualOperations: UInt64 = 3

  /// The most memory with which three passes take no longer than the target, then as many passes as that allows. If
  /// three passes over 8 MiB take too long, fewer passes over 8 MiB, at least one.
  ///
  /// - Parameters:
  ///   - target: microseconds.
  ///   - largest: bytes; the most that every hashing slot can use at the same time.
  ///   - time: measures a hash, in microseconds; nil: there isn't enough memory for it.
  public static func cost(
    target: UInt64, largest: UInt64, time: (Options.Cost) -> UInt64?
  ) -> Options.Cost {
    var memory = Options.Cost.memoryRange.upperBound
    var taken: UInt64?
    while true {
      taken = memory <= largest ? time(Options.Cost(operations: usualOperations, memory: memory)) : nil
      if let taken, taken <= target { break }
      guard memory > leastMemory else { break }
      memory /= 2
    }
    var operations = usualOperations
    if let taken, taken > 0, taken <= target {
      operations = min(Options.Cost.operationsRange.upperBound, usualOperations * target / taken)
    }
    while operations > 1, time(Options.Cost(operations: operations, memory: memory)) ?? 0 > target {
      operations -= 1
    }
    return Options.Cost(operations: operations, memory: memory)
  }

  /// Milliseconds in a text like `250ms` or `1s`; nil for anything else, below 10 ms and above 10 s.
  public static func milliseconds(_ text: ArraySlice<UInt8>) -> UInt64? {
    let unit: UInt64
    let digits: ArraySlice<UInt8>
    if text.suffix(2).spells("ms") {
      (unit, digits) = (1, text.dropLast(2))
    } else if text.last == UInt8(ascii: "s") {
      (unit, digits) = (1_000, text.dropLast())
    } else {
      return nil
    }
    guard let number = decimal(digits), number <= 10_000, 10...10_000 ~= number * unit else { return nil }
    return number * unit
  }
}

/// The text of a configuration file, with an option set to this value. All else, comments included, stays as it is.
///
/// - Parameter file: one that the parser accepts, so it has the option at most once.
public func configurationText(_ file: Bytes, setting name: String, to value: Bytes) -> Bytes {
  let option = Bytes(text: name) + [UInt8(ascii: "=")] + value
  var lines = file[...].parts(between: UInt8(ascii: "\n"))
  if let index = lines.firstIndex(where: { $0.prefix { $0 != UInt8(ascii: "=") }.trimmed().spells(name) }) {
    lines[index] = option[...]
  } else {
    if lines.last?.isEmpty == true { lines.removeLast() }
    lines += [option[...], []]
  }
  var text = Bytes()
  for line in lines.dropLast() { text += line + [UInt8(ascii: "\n")] }
  return text + (lines.last ?? [])
}
