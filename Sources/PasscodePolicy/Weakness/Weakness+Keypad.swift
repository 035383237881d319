// What makes a code weak by where its keys are, on the phone pad (1 2 3 at the top, 0 below 8) and on the
// number pad (7 8 9 at the top, 0 below the lowest row, as wide as its neighbours make it).
//
// The two differ by a reflection, which keeps shapes, and by the place of 0. One picture therefore serves
// both, with 0 in turn below 8 (phone) and above 1, 2 and 3 (number pad, upside down):
//
//      0 1 2    column        position = 8 * row + column; a step is the difference of two positions,
//   0  0 0 0                  ±1 and ±8 along a row or column, ±7 and ±9 along a diagonal. A row has
//   1  1 2 3                  three keys of its eight places, so no step can be mistaken for another.
//   2  4 5 6
//   3  7 8 9
//   4    0

extension Weakness {
  /// - Parameter code: 4 or 6 ASCII digits.
  static func isKeypadShape(_ code: Span<UInt8>) -> Bool {
    if code.count == 4 && isCornersOrCross(code) { return true }
    if code.count == 6 && isLine(code, 0) && isLine(code, 3) { return true }
    return isOnEitherPad { isPath(code, zero: $0) }
  }

  private static func isOnEitherPad(_ isShape: (_ zero: Int) -> Bool) -> Bool {
    isShape(33) || isShape(0) || isShape(1) || isShape(2)
  }

  @inline(__always)
  private static func position(_ digit: Int, zero: Int) -> Int {
    digit == 0 ? zero : ((digit - 1) / 3 + 1) * 8 + (digit - 1) % 3
  }

  @inline(never)
  private static func step(_ code: Span<UInt8>, _ index: Int, zero: Int) -> Int {
    position(digit(code, index + 1), zero: zero) - position(digit(code, index), zero: zero)
  }

  private static func isStraight(_ step: Int) -> Bool {
    step == 1 || step == -1 || step == 8 || step == -8
  }

  private static func isDiagonal(_ step: Int) -> Bool {
    step == 7 || step == -7 || step == 9 || step == -9
  }

  /// A path from key to neighbouring key that meets no key twice. Of four keys only what the eye sees as one
  /// shape: a line, an L or a box (2580, 1478, 1254); of six any (123654, 147896, 987412).
  private static func isPath(_ code: Span<UInt8>, zero: Int) -> Bool {
    var turns = 0
    for index in 0..<code.count - 1 {
      let step = step(code, index, zero: zero)
      guard isStraight(step), !isMet(code, index + 1) else { return false }
      if index > 0 && step != self.step(code, index - 1, zero: zero) { turns += 1 }
    }
    return code.count == 6 || turns < 2 || isClosed(code, zero: zero)
  }

  private static func isMet(_ code: Span<UInt8>, _ last: Int) -> Bool {
    for index in 0..<last where code[index] == code[last] { return true }
    return false
  }

  private static func isClosed(_ code: Span<UInt8>, zero: Int) -> Bool {
    let first = position(digit(code, 0), zero: zero)
    return isStraight(position(digit(code, code.count - 1), zero: zero) - first)
  }

  /// Three keys in a line, straight or diagonal, on either pad: 147, 159, 357, 085.
  private static func isLine(_ code: Span<UInt8>, _ start: Int) -> Bool {
    isOnEitherPad {
      let step = step(code, start, zero: $0)
      return (isStraight(step) || isDiagonal(step)) && step == self.step(code, start + 1, zero: $0)
    }
  }

  /// The four corners in any order (1379, 1937), or 2, 4, 6, 8 around (2486, 6248).
  private static func isCornersOrCross(_ code: Span<UInt8>) -> Bool {
    var keys = 0
    var diagonals = 0
    for index in code.indices { keys |= 1 << digit(code, index) }
    for index in 0..<3 where isDiagonal(step(code, index, zero: 33)) { diagonals += 1 }
    return keys == 0b10_1000_1010 || keys == 0b1_0101_0100 && diagonals == 3
  }
}
