extension HelperReply {
  /// Why a new passcode is refused; nil where it is another answer, or if there is any doubt.
  public var refusal: Choice.Refusal? {
    guard kind == .refused, let number = UInt8(exactly: number(0)) else { return nil }
    return number == 1 ? .length : Weakness(rawValue: number).map { .weak($0) }
  }
}
