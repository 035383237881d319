internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// The side of passcode-finger.

extension TouchCounter {
  /// Charges one touch, before the reader waits for it.
  ///
  /// - Parameter earlier: a touch that was charged before and is decided now. While nothing else happened to the count,
  ///   it is that one; after a reset, for one, it is charged again.
  /// - Returns: the count with it; nil: the finger is off.
  func charge(unless earlier: TouchCount? = nil) throws(Errno) -> TouchCount? {
    let locked = try RunFolder.lock(try RunFolder.openOrMake(name, access))
    let count = try read(locked)
    if let earlier, count == earlier { return earlier }
    guard let charged = count.charged() else { return nil }
    try locked.file.write(charged.bytes, at: 0)
    return charged
  }

  /// Takes back a charge, where nobody touched the reader, or the touch matched, and nothing else happened to the count
  /// since. What can't be written stays charged.
  ///
  /// - Returns: the count after it.
  @discardableResult
  func takeBack(_ charged: TouchCount) -> TouchCount {
    do throws(Errno) {
      let locked = try RunFolder.lock(try RunFolder.open(name))
      guard try read(locked) == charged else { return charged }
      try locked.file.write(charged.takenBack().bytes, at: 0)
      return charged.takenBack()
    } catch {
      return charged
    }
  }
}
