internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

extension Passcode {
  /// Takes a typed line if it is a one-time code, in letters of either size; else there is none afterwards.
  mutating func takeCode(_ line: borrowing TypedLine) -> Bool {
    guard copy(line, as: OneTimeCode.letter), isCode else {
      wipe()
      return false
    }
    return true
  }
}
