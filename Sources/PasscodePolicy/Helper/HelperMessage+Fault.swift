// Faults and refusals on their way from the helper to its caller: as codes and parameters, without words.
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
    var head: Bytes = [fault.reason.rawValue, UInt8(path.count)]
    head.append(UInt64(fault.error), bytes: 2)
    head.append(fault.number, bytes: 8)
    self.init(
      .unavailable, [fault.isConfiguration ? 1 : 0], text: hexadecimal(head) + path + shown(fault.name))
  }

  /// What keeps it from answering; nil where it is another answer, or if there is any doubt.
  public var fault: Fault? {
    let text = text
    guard kind == .unavailable, number(0) <= 1, text.count >= faultHead,
      let head = PasscodeBytes.bytes(hexadecimal: text[..<faultHead]),
      let reason = Fault.Reason(rawValue: head[0]), !reason.isNote, number(0) == 1 || !reason.isConfiguration
    else { return nil }
    let end = faultHead + Int(head[1])
    guard head[1] <= longestShown, end <= text.count, text.count - end <= longestShown else { return nil }
    return Fault(
      reason, inConfiguration: number(0) == 1, path: Bytes(text[faultHead..<end]), name: Bytes(text[end...]),
      number: littleEndianNumber(head, 4, 8), error: Int32(littleEndianNumber(head, 2, 2)))
  }

  public init(refusal: Choice.Refusal) {
    var number: UInt64 = 1
    if case .weak(let weakness) = refusal { number = UInt64(weakness.rawValue) }
    self.init(.refused, [number])
  }
}

/// Bytes of a path or a name: one more than `printable` shows, so that it says that it was cut.
private let longestShown = 129
/// Bytes of the hexadecimal digits.
private let faultHead = 24

private func shown(_ text: Bytes) -> Bytes {
  var shown = Bytes()
  for byte in text where shown.count < longestShown && !isControl(byte) { shown.append(byte) }
  return shown
}
