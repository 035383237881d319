// The side of passcode-finger.

extension TouchCount {
  /// The count with one more touch charged; nil where the reader is turned off.
  public func charged() -> TouchCount? {
    isOff ? nil : TouchCount(touches: touches + 1, serial: serial &+ 1)
  }

  /// Without the touch that was charged last: nobody touched the reader, or it matched.
  public func takenBack() -> TouchCount {
    TouchCount(touches: touches == 0 ? 0 : touches - 1, serial: serial &+ 1)
  }
}
