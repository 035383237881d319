internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeTool

/// Prints one account's status; the exit status says whether there is a passcode.
func report(_ status: Status, _ session: Session, store: Bytes) throws(Failure) -> ExitStatus {
  let stacks = session.stackReport()
  let finger = status.isFleets ? nil : FingerReport(status, stacks)
  let text = session.wantsJSON ? status.json(finger) : status.words(store, finger) + (stacks?.notes ?? "")
  guard Stream.output.write(text) else { throw .unwritable }
  if status.state == .corrupt { return .unusable }
  return status.isEnrolled ? .done : .notEnrolled
}

// MARK: - JSON: the field names are a contract (passcode-json(5))

extension Status {
  /// A line of `list`.
  var json: Text { "{\(jsonFields)}\n" }

  /// The JSON object of `status`.
  func json(_ finger: FingerReport?) -> Text {
    var services: [Bytes] = []
    for group in finger?.offering ?? [] { services += group.services }
    let word: Text = finger.map { "\"\(Text($0.word))\"" } ?? "null"
    return
      "{\(jsonFields),\"finger\":\(word),\"fingers\":\(jsonList(finger?.fingers?.names ?? [])),\"finger_services\":\(jsonList(services))}\n"
  }

  /// Whether `--state` and `--since` select this record.
  func isAsked(_ session: Session) -> Bool {
    if let state = session.state, state != stateName.bytes { return false }
    return session.since.map { isRecent(within: $0) } ?? true
  }
}

@inline(never)
private func jsonList(_ names: [Bytes]) -> Text {
  var list: Text = ""
  for name in names { list += "\(list.bytes.isEmpty ? "" : "," as Text)\"\(jsonEscaped(name))\"" }
  return "[\(list)]"
}

// MARK: - For people

extension Status {
  /// The report in words, with a line about the fingerprint reader.
  func words(_ store: Bytes, _ finger: FingerReport?) -> Text {
    words(store) + (finger.map { wrapped($0.text.text) } ?? "")
  }

  func row(isColoured: Bool) -> Text {
    let widths = Status.widths
    var text = padded(Text(printable(account.name)), widths[0]) + padded("\(account.uid)", widths[1])
    text += padded(length.map { "\($0)" } ?? "-", widths[2]) + padded("\(failures)", widths[3])
    let state = padded(stateName, widths[4])
    text += isColoured && self.state != .ok ? "\u{1b}[31m\(state)\u{1b}[0m" : state
    return text + "\(lastSuccess.map { SystemClock.localTime($0) } ?? Bytes(text: "-"))\n"
  }
}
