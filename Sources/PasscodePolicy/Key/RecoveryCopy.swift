/// The recovery copy of a machine key, for paper: 32 bytes in four lines.
///
///     1  3f9a 22b1 0c7d 88e4  5
///
/// A line is its number, 16 hexadecimal digits, and a check digit: Luhn's algorithm modulo 16 over number and digits. It
/// finds each wrong digit, each line in another one's place, and nearly all neighbours that changed places.
///                                                                                             RecoveryCopyTests
public enum RecoveryCopy {
  public static let lines = 4
  private static let digits = 16

  /// Writes a line, byte by byte: where it lies is the caller's choice, because it is a part of the key.
  ///
  /// - Parameters:
  ///   - number: 1 to `lines`.
  ///   - key: 32 bytes.
  public static func write(_ number: Int, of key: Span<UInt8>, _ put: (UInt8) -> Void) {
    var check = Check(number)
    put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
    put(UInt8(ascii: " "))
    for index in 0..<digits {
      let byte = key[(number - 1) * digits / 2 + index / 2]
      let digit = index % 2 == 0 ? byte >> 4 : byte & 15
      check.add(digit)
      if index % 4 == 0 { put(UInt8(ascii: " ")) }
      put(letter(digit))
    }
    put(UInt8(ascii: " "))
    put(UInt8(ascii: " "))
    put(letter(check.digit))
  }

  /// Reads a line as it was typed: in any case, with blanks anywhere, with its number or without.
  ///
  /// - Parameter take: gets each digit and its place among the 64; where the line turns out wrong, too.
  /// - Returns: whether it is that line of a copy.
  public static func read(_ line: Span<UInt8>, number: Int, _ take: (UInt8, Int) -> Void) -> Bool {
    var left = 0
    for index in line.indices where line[index] != UInt8(ascii: " ") { left += 1 }
    guard left == digits + 1 || left == digits + 2 else { return false }
    var check = Check(number)
    for index in line.indices where line[index] != UInt8(ascii: " ") {
      guard let digit = hexadecimalValue(line[index]) else { return false }
      left -= 1
      switch left {
      case 0: return digit == check.digit
      case 1...digits:
        check.add(digit)
        take(digit, number * digits - left)
      default:
        guard Int(digit) == number else { return false }
      }
    }
    return false
  }

  /// Over the number and 16 digits; the first and each other one count twice.
  private struct Check {
    private var sum = 0
    private var isDoubled = true

    init(_ number: Int) {
      add(UInt8(truncatingIfNeeded: number))
    }

    mutating func add(_ digit: UInt8) {
      let product = isDoubled ? 2 * Int(digit) : Int(digit)
      sum += product / 16 + product % 16
      isDoubled = !isDoubled
    }

    var digit: UInt8 { UInt8(truncatingIfNeeded: 256 - sum) & 15 }
  }

  private static func letter(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
  }
}

/// The value of a hexadecimal digit, in either case; nil for any other byte.
package func hexadecimalValue(_ letter: UInt8) -> UInt8? {
  switch letter | 0x20 {
  case UInt8(ascii: "0")...UInt8(ascii: "9") where letter & 0x20 != 0: letter - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): (letter | 0x20) - UInt8(ascii: "a") + 10
  default: nil
  }
}
