public import PasscodePolicy
public import PasscodeSystem

extension Passcode {
  /// Takes a typed line if it is a passcode; else there is none afterwards. The one way from the one to the other.
  @inline(never)
  public mutating func take(_ line: borrowing TypedLine) -> Answer {
    wipe()
    let answer = line.read { Answer($0) }
    guard answer == .passcode else { return answer }
    return copy(line) ? .passcode : .other
  }

  /// 4 or 6 digits, or none; or a one-time code, where the request is proven by one.
  public func isSound(in request: HelperRequest) -> Bool {
    request.operation.row.proof == .code ? isCode : isSound
  }

  /// 4 or 6 digits, or none.
  public var isSound: Bool { read { Answer($0) } != .other }

  var isCode: Bool { read { OneTimeCode.isCode($0) } }
}
