public import PasscodePolicy

/// The files that pam-auth-update(8) writes. It goes on writing one only while every line of its blocks is one that it
/// wrote; options may be added and removed.
///
/// - Parameters:
///   - file: /etc/pam.d/common-TYPE.
///   - saved: /var/lib/pam/TYPE, what was written last: after `Module: NAME`, its lines.
/// - Returns: the first line that someone else wrote; nil: there is none, or the file has no such blocks.
public func editedLine(_ file: Bytes, saved: Bytes) -> Int? {
  let newline = UInt8(ascii: "\n")
  var known = saved[...].parts(between: newline).filter { !$0.begins(with: "Module:") && !$0.isEmpty }[...]
  var isInBlock = false
  var number = 0
  for line in file[...].parts(between: newline) {
    number += 1
    if line.begins(with: "# here are the per-package modules") || line.begins(with: "# and here are more") {
      isInBlock = true
    } else if line.begins(with: "# here's the fallback") || line.begins(with: "# end of pam-auth-update") {
      isInBlock = false
    } else if isInBlock {
      guard let place = known.firstIndex(where: { isSame(line, $0) }) else { return number }
      known = known[(place + 1)...]
    }
  }
  return nil
}

/// Whether a line is a profile's, but for its options and for how far it jumps.
private func isSame(_ line: ArraySlice<UInt8>, _ saved: ArraySlice<UInt8>) -> Bool {
  guard case .module(let module, _, _)? = PAMFile(Bytes(line)).lines.first?.rule,
    case .module(let savedModule, _, _)? = PAMFile(Bytes(text: "auth ") + saved).lines.first?.rule
  else { return false }
  let type = line.words().first ?? []
  return module == savedModule && control(line[type.endIndex...]) == control(saved)
}

/// The control before a module, without the numbers and `end` that say how far it jumps.
private func control(_ text: ArraySlice<UInt8>) -> Bytes {
  let text = text.trimmed()
  guard text.first == UInt8(ascii: "[") else { return Bytes(text.words().first ?? []) }
  var control = Bytes()
  for word in text.prefix(while: { $0 != UInt8(ascii: "]") }).words() {
    let equals = word.firstIndex(of: UInt8(ascii: "=")) ?? word.endIndex
    let value = word[equals...].dropFirst()
    let isJump = value.spells("end") || !value.isEmpty && value.allSatisfy(isDigit)
    control += (isJump ? word[...equals] : word) + [UInt8(ascii: " ")]
  }
  return control
}
