// Faults and refusals on their way from the helper to its caller: as codes and parameters, in nobody's language.
//
// The text of `unavailable`, which with anything else is no message:
//
//     offset 0    24 hexadecimal digits of
//                   reason    1 byte    Fault.Reason, but no note
//                   length    1 byte    of the path, at most 129
//                   error     2 bytes   errno
//                   number    8 bytes
//     offset 24   the path, then the name, at most 129 bytes
//
// Path and name are cut to what `printable` shows, and have no control characters.       HelperMessageTests, FuzzHelper

extension HelperReply {
  public init(fault: Fault) {
    let path = shown(fault.path)
    let head =
      [fault.reason.rawValue, UInt8(path.count)] + littleEndian(UInt64(fault.error), 2)
      + littleEndian(fault.number, 8)
    self.init(
      .unavailable, [fault.isConfiguration ? 1 : 0], text: hexadecimal(head) + path + shown(fault.name))
  }

  /// What keeps it from answering; nil where it is another answer, or if there is any doubt.
  public var fault: Fault? {
    let text = text
    guard kind == .unavailable, number(0) <= 1, text.count >= faultHead,
      let head = PasscodePolicy.bytes(hexadecimal: text[..<faultHead]),
      let reason = Fault.Reason(rawValue: head[0]), !reason.isNote, number(0) == 1 || !reason.isConfiguration
    else { return nil }
    let end = faultHead + Int(head[1])
    guard head[1] <= longestShown, end <= text.count, text.count - end <= longestShown else { return nil }
    return Fault(
      reason, inConfiguration: number(0) == 1, path: Bytes(text[faultHead..<end]), name: Bytes(text[end...]),
      number: littleEndianNumber(head, 4, 8), error: Int32(littleEndianNumber(head, 2, 2)))
  }

  public init(refusal: Choice.Refusal) {
    let index = Choice.Refusal.all.firstIndex(of: refusal)
    self.init(.refused, [index.map { UInt64($0) + 1 } ?? 0])
  }

  /// Why a new passcode is refused; nil where it is another answer, or if there is any doubt.
  public var refusal: Choice.Refusal? {
    let all = Choice.Refusal.all
    guard kind == .refused, number(0) > 0, number(0) <= UInt64(all.count) else { return nil }
    return all[Int(number(0)) - 1]
  }
}

/// Bytes of a path or a name: one more than `printable` shows, so that it says that it was cut.
private let longestShown = 129
/// Bytes of the hexadecimal digits.
private let faultHead = 24

private func shown(_ text: Bytes) -> Bytes {
  Bytes(text.lazy.filter { !isControl($0) }.prefix(longestShown))
}

extension Choice.Refusal {
  /// Each has its place as its number, from 1 on: new ones go to the end.
  static var all: [Choice.Refusal] {
    [.length] + weaknesses.map { .weak($0) }
  }

  private static var weaknesses: [Weakness] {
    [
      .sameDigit, .nearlySameDigit, .repeated, .mirrored, .doubled, .run, .keypad, .year, .steppedPairs,
      .date,
      .popular(length: 4), .popular(length: 6), .personal(.phone), .personal(.room), .personal(.fullName),
      .personal(.userName), .personal(.userID), .personal(.spelledName), .personal(.home),
      .personal(.nameYear), .personal(.details), .siteList, .variation(.same), .variation(.reversed),
      .variation(.rotated), .variation(.oneDigitByOne), .variation(.contained),
    ]
  }
}
