// Any bytes as PAM service files that include each other, and what each module answers: whether the person gets in is
// the same by our reader and by libpam itself. The modules are copies of Support/answer.c.

import CFuzz
@testable import PasscodePolicy
@testable import PasscodeStacks

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLibpam(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: data, count: size))
  guard !input.split(separator: 10).contains(where: killsLibpam) else { return -1 }
  // No files and modules but ours.
  guard let choice = input.first, !input.contains(UInt8(ascii: "/")) else { return -1 }
  let files = input.dropFirst().parts(between: 0).prefix(4).map(named)
  let read = files.map(PAMFile.init)
  guard files.allSatisfy(isReadAlike), !leavesActions(read), !isEndless(read) else { return -1 }
  var stacks = PAMStacks()
  for (index, content) in files.enumerated() {
    let name = UInt8(ascii: "a") + UInt8(index)
    stacks.add(Text("\(PAMStacks.folders[0])/\([name])").bytes, .found(PAMFile(content)))
    fuzz_libpam_file(index, content, content.count)
  }
  for index in files.count..<4 { fuzz_libpam_file(index, nil, 0) }
  guard let stack = try? stacks.stack(of: Bytes(text: "a")), stack.entries.allSatisfy(isOurs) else {
    return -1
  }

  let password = choice & 1 != 0
  let others: PAMStack.Others = choice & 2 != 0 ? .succeed : .fail
  // The last one: the passcode is right.
  let number = Int(choice >> 2) % (PAMStack.Refusal.allCases.count + 1)
  let answers = [
    UInt8(ascii: password ? "1" : "0"), UInt8(ascii: others == .succeed ? "1" : "0"),
    UInt8(ascii: "0") + UInt8(number), 0,
  ]
  let opens =
    number == PAMStack.Refusal.allCases.count
    ? stack.opensByPasscode(password, others)
    : stack.opens(
      password: password, passcodeAt: nil, refusal: PAMStack.Refusal.allCases[number], others: others)
  precondition(opens == (fuzz_libpam_opens(answers) != 0), "libpam says something else")
  return 0
}

/// With the path of each module of ours.
private func named(_ content: ArraySlice<UInt8>) -> Bytes {
  let folder = String(cString: fuzz_libpam_modules())
  var text = Bytes()
  for index in content.indices {
    if content[index...].begins(with: "pam_") { text += folder.utf8 }
    text.append(content[index])
  }
  return text
}

/// libpam dies of an `include` without a name; and 1.5.2 of a module without one, which it leaves in its list half made.
private func killsLibpam(_ line: ArraySlice<UInt8>) -> Bool {
  let ends = [UInt8(ascii: "#"), UInt8(ascii: "\\"), 0]
  return line.split(whereSeparator: ends.contains).contains { part in
    var rest = part
    while let last = rest.last, [32, 9, UInt8(ascii: "]")].contains(last) { rest.removeLast() }
    let last = lowercased(Bytes(rest))
    return last.suffix(7).spells("include") || last.suffix(8).spells("substack")
      || part.split(whereSeparator: [32, 9, UInt8(ascii: "]")].contains).contains(where: isNameless)
      || part.split(separator: UInt8(ascii: "["), omittingEmptySubsequences: false).dropFirst()
        .contains { isNameless($0.prefix { $0 != UInt8(ascii: "]") }) }
  }
}

/// What libpam 1.5.2 and 1.7.0 don't read alike is left out: a line of more than 1,023 bytes, with those that continue it
/// (each module's path has as many as this tree's); an empty line or a comment between a line and what continues it; and a
/// number of more than nine digits.
private func isReadAlike(_ content: Bytes) -> Bool {
  if content.split(whereSeparator: { !isDigit($0) }).contains(where: { $0.count > 9 }) { return false }
  var (length, goesOn) = (0, false)
  for line in content[...].parts(between: UInt8(ascii: "\n")) where line.startIndex < content.count {
    let text = line.trimmed()
    if goesOn, text.isEmpty || text.first == UInt8(ascii: "#") { return false }
    length += line.count + 1
    if length >= 1_023 { return false }
    goesOn = text.last == UInt8(ascii: "\\")
    if !goesOn { length = 0 }
  }
  return true
}

/// An `@include` that fails, in a file that a line of one type may include: libpam takes the actions of that line from
/// whatever its memory held before.
private func leavesActions(_ files: [PAMFile]) -> Bool {
  let includes = files.flatMap(\.lines).filter { included($0) != nil }
  let isCut = files.contains { $0.cutLine != nil }
  return includes.contains { $0.kind != .every }
    && includes.contains { $0.kind == .every && (isCut || !files.indices.contains(included($0) ?? -1)) }
}

/// libpam 1.5.2 never ends where files include each other in a circle, whatever the type of the lines.
private func isEndless(_ files: [PAMFile]) -> Bool {
  var left = Set(files.indices)
  while let last = left.first(where: { !files[$0].lines.compactMap(included).contains(where: left.contains) })
  {
    left.remove(last)
  }
  return !left.isEmpty
}

/// The number of the file that a line includes, if there is one; nil for a line that includes none.
private func included(_ line: PAMLine) -> Int? {
  guard case .include(let name, _) = line.rule else { return nil }
  return name.count == 1 ? Int(name[0]) - Int(UInt8(ascii: "a")) : -1
}

/// What precedes the last dot is nothing, or a question mark.
private func isNameless(_ word: ArraySlice<UInt8>) -> Bool {
  let name = word.lastIndex(of: UInt8(ascii: ".")).map { word[..<$0] } ?? word
  return name.isEmpty || name.spells("?")
}

/// Whether a line's module is there; true for what is no module.
private func isOurs(_ entry: PAMStack.Entry) -> Bool {
  let folder = String(cString: fuzz_libpam_modules())
  return entry.module.isEmpty
    || ["passcode", "unix", "permit", "deny", "other"].contains {
      entry.module.elementsEqual("\(folder)pam_\($0).so".utf8)
    }
}
