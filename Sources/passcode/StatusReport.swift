internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

func runStatus(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let account = try session.administeredAccount(vault)
  let status = try reporting { () throws(Fault) in try vault.status(account) }
  if session.wantsJSON {
    Stream.output.write(status.json)
  } else {
    Stream.output.write(status.words(vault.configuration.options.policy.store))
  }
  if status.state == .corrupt { return .unusable }
  return status.isEnrolled ? .done : .notEnrolled
}

func runList(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  guard vault.configuration.access != .helper else { throw Failure(.notPermitted, "only root can list passcodes") }
  var table = Bytes()
  let isColoured = Stream.output.isTerminal && environment("NO_COLOR") == nil
  if !session.wantsJSON { table += Bytes(text: Status.heading) }
  try reporting { () throws(Fault) in
    try vault.list { status in
      table += session.wantsJSON ? status.json : status.row(isColoured: isColoured)
      if table.count > 1 << 16 {
        Stream.output.write(table)
        table = []
      }
    }
  }
  return Stream.output.write(table) ? .done : .unusable
}

// MARK: - JSON: the field names are a contract (passcode(1))

extension Status {
  var json: Bytes {
    var text = Bytes(text: "{\"user\":\"") + jsonEscaped(account.name)
    text += Bytes(text: "\",\"uid\":\(account.uid),\"enrolled\":\(isEnrolled ? "true" : "false")")
    text += Bytes(text: ",\"length\":\(length.map { "\($0)" } ?? "null")")
    text += Bytes(text: ",\"state\":\"\(stateName)\",\"failures\":\(failures)")
    text += Bytes(text: ",\"seconds_left\":\(secondsLeft)")
    text += Bytes(text: ",\"locked_until\":") + jsonTime(lockedUntil)
    text += Bytes(text: ",\"enrolled_at\":") + jsonTime(enrolledAt)
    text += Bytes(text: ",\"last_success\":") + jsonTime(lastSuccess)
    return text + Bytes(text: "}\n")
  }

  var stateName: String {
    switch state {
    case .ok: "ok"
    case .locked: "locked"
    case .exhausted: "exhausted"
    case .disabled: "disabled"
    case .corrupt: "corrupt"
    }
  }

  private var secondsLeft: UInt64 {
    guard case .locked(let milliseconds) = state else { return 0 }
    return (milliseconds + 999) / 1_000
  }
}

private func jsonTime(_ seconds: UInt64?) -> Bytes {
  guard let seconds else { return Bytes(text: "null") }
  return Bytes(text: "\"") + SystemClock.rfc3339(seconds) + Bytes(text: "\"")
}

/// RFC 8259: quotes, backslashes and control characters escaped; bytes that aren't UTF-8 become U+FFFD.
func jsonEscaped(_ bytes: Bytes) -> Bytes {
  var text = Bytes()
  for byte in Bytes(text: String(decoding: bytes, as: UTF8.self)) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
    case 0..<0x20: text += Bytes(text: "\\u00") + hexadecimal([byte])
    default: text.append(byte)
    }
  }
  return text
}

// MARK: - For people

extension Status {
  static let heading = "USER             UID    LENGTH  FAILURES  STATE      LAST SUCCESS\n"

  func row(isColoured: Bool) -> Bytes {
    var text = printable(account.name)
    text += blanks(17 - text.count)
    text += Bytes(text: padded("\(account.uid)", 7) + padded(length.map { "\($0)" } ?? "-", 8))
    text += Bytes(text: padded("\(failures)", 10))
    let state = padded(stateName, 11)
    text += Bytes(text: isColoured && self.state != .ok ? "\u{1b}[31m" + state + "\u{1b}[0m" : state)
    return text + (lastSuccess.map { SystemClock.rfc3339($0) } ?? Bytes(text: "-")) + Bytes(text: "\n")
  }

  func words(_ store: Bytes) -> Bytes {
    let name = printable(account.name)
    guard state != .corrupt else {
      let path = printable(store) + Bytes(text: "/\(account.uid)")
      return name + Bytes(text: ": the record is damaged (") + path
        + Bytes(text: "): restore it from a backup, or enrol again as root (passcode enroll)\n")
    }
    guard isEnrolled else {
      let suspended = state == .disabled ? " (and suspended)" : ""
      return name + Bytes(text: ": no passcode is set\(suspended)\n")
    }
    var text = name + Bytes(text: ": a passcode is set")
    if let length { text += Bytes(text: ", \(length) digits") }
    text += Bytes(text: "\n  state: " + stateWords + "\n")
    text += Bytes(text: "  failures since the last success: \(failures)\n")
    if let enrolledAt { text += Bytes(text: "  set: ") + SystemClock.rfc3339(enrolledAt) + Bytes(text: "\n") }
    if let lastSuccess { text += Bytes(text: "  last used: ") + SystemClock.rfc3339(lastSuccess) + Bytes(text: "\n") }
    return text
  }

  private var stateWords: String {
    switch state {
    case .ok: "ok"
    case .locked(let milliseconds): "locked, \(Words.remaining(milliseconds)) left"
    case .exhausted: "exhausted after too many failures: \"passcode unlock\" ends it"
    case .disabled: "suspended: \"passcode enable\" ends it"
    case .corrupt: "damaged"
    }
  }
}

private func blanks(_ count: Int) -> Bytes {
  Bytes(repeating: UInt8(ascii: " "), count: max(1, count))
}
