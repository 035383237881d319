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

  /// Milliseconds in a text like `250ms`, or as `duration` takes it; nil for anything else, below 10 ms and above 10 s.
  public static func milliseconds(_ text: ArraySlice<UInt8>) -> UInt64? {
    let number =
      text.suffix(2).spells("ms") ? decimal(text.dropLast(2)) : duration(text, upTo: 10).map { $0 * 1_000 }
    guard let number, 10...10_000 ~= number else { return nil }
    return number
  }
}
