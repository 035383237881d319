internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// What the system's PAM service files have to do with passcodes: told, and nothing is decided by it.

extension Session {
  /// Tells after an enrolment what to do if no PAM service asks for the passcode.
  func hintAtStacks() {
    guard !isQuiet, let report = stackReport(), report.groups.isEmpty else { return }
    // --generate prints the passcode, and nothing else, on standard output.
    (generates ? Stream.error : .output).write(report.nobodyAsks)
  }

  /// nil: with a store of one's own, or to try, the system's services are no matter.
  func stackReport() -> PAMReport? {
    guard configurationPath == nil, !isTrial, let configuration = try? configuration() else { return nil }
    return readStacks().report(configuration.options)
  }
}

extension PAMReport {
  /// For the end of `status`: who asks for the passcode, and what is wrong there.
  var notes: Text {
    var text: Text = ""
    for unread in unknown { text += unread.text }
    text += groups.isEmpty ? nobodyAsks.text : wrapped(whoAsks(PAMReport.services(groups)).text)
    for finding in findings { text += finding.text }
    return text
  }

  /// `login, su (common-auth); swaylock`
  static func services(_ groups: [Group]) -> Text {
    var text: Text = ""
    for group in groups { text += "\(text.bytes.isEmpty ? "" : "; " as Text)\(group.list)" }
    return text
  }
}

extension PAMReport.Group {
  fileprivate var list: Text {
    var text: Text = ""
    for service in services { text += "\(text.bytes.isEmpty ? "" : ", " as Text)\(printable(service))" }
    let file = Bytes(path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
    return services == [file] ? text : "\(text) (\(printable(file)))"
  }
}

/// In lines of at most 80 columns, if its words aren't longer; all but the first are indented.
func wrapped(_ text: Text) -> Text {
  var lines: Text = ""
  var width = 0
  for word in text.bytes[...].words() {
    let length = columns(word)
    let isTooWide = width + 1 + length > 80
    if width > 0 { lines += isTooWide ? "\n  " : " " }
    width = width == 0 ? length : isTooWide ? 2 + length : width + 1 + length
    lines += Text(Bytes(word))
  }
  return lines + "\n"
}

// MARK: - Reading

func readStacks() -> PAMStacks {
  var stacks = PAMStacks()
  for folder in PAMStacks.folders { read(folder, into: &stacks) }
  while let path = stacks.wanted() { stacks.add(path, read(path) ?? .missing) }
  return stacks
}

private func read(_ folder: Bytes, into stacks: inout PAMStacks) {
  do throws(Errno) {
    // The dot: the folder may be a symbolic link.
    for name in try Descriptor.open(Text("\(folder)/.").bytes, .directory).names() {
      let path = Text("\(folder)/\(name)").bytes
      if let content = read(path) { stacks.add(path, content) }
    }
  } catch {
    if error != .noEntry { stacks.add(folder, .unreadable(.failed(error.code))) }
  }
}

/// nil: a folder, which is no service.
@inline(never)
private func read(_ path: Bytes) -> PAMStacks.Content? {
  do throws(Errno) {
    let file = try Descriptor.open(path, .readLinked)
    if try file.status().kind == .directory { return nil }
    let content = try file.read(PAMFile.largest + 1, at: 0)
    return content.count > PAMFile.largest ? .unreadable(.tooLarge) : .found(PAMFile(content))
  } catch {
    return error == .noEntry ? .missing : .unreadable(.failed(error.code))
  }
}
