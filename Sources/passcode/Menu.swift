internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// `passcode` alone: one's own state, and what can be done next; on a terminal one can choose it there.
func runMenu(_ session: Session) throws(Failure) -> ExitStatus {
  let (status, configuration, isClosed) = try ownStatus(session)
  let choices = MenuChoice.list(status, isClosed: isClosed)
  Stream.output.write(status.words(configuration.options.policy.store))
  guard standardInputIsTerminal(), Stream.output.isTerminal else {
    for choice in choices { Stream.output.write("  passcode \(choice.command): \(choice.title.text)\n") }
    return .done
  }
  guard !choices.isEmpty else { return .done }
  var number: UInt64 = 0
  for choice in choices {
    number += 1
    Stream.output.write("  \(number)  \(choice.title.text)\n")
  }
  Stream.output.write(MenuChoice.question)
  guard let index = try readChoice(choices.count) else { return .done }
  return try Command.named(choices[index].command.bytes).run(as: session)
}

struct MenuChoice {
  let command: Text
  let title: Title

  enum Title {
    case enroll, change, unlock, remove
  }

  /// - Parameter isClosed: the password is no proof (`self_enroll=no`): what needs it is root's.
  static func list(_ status: Status, isClosed: Bool) -> [MenuChoice] {
    guard status.state != .disabled else { return [] }
    guard status.isEnrolled else { return isClosed ? [] : [MenuChoice(command: "enroll", title: .enroll)] }
    let off = MenuChoice(command: "remove", title: .remove)
    switch status.state {
    case .ok: return [MenuChoice(command: "change", title: .change), off]
    case .locked, .exhausted: return isClosed ? [] : [MenuChoice(command: "unlock", title: .unlock), off]
    case .disabled, .corrupt: return isClosed ? [] : [off]
    case .expired: return isClosed ? [] : [MenuChoice(command: "enroll", title: .enroll), off]
    case .mustChange: return [MenuChoice(command: "change", title: .change)] + (isClosed ? [] : [off])
    }
  }
}

/// And the configuration, and whether that closes self-service.
private func ownStatus(_ session: Session) throws(Failure) -> (Status, Configuration, Bool) {
  if let own = try SelfService(session) {
    return (try own.status(), own.configuration, own.configuration.options.policy.selfEnroll == .no)
  }
  let vault = try session.vault()
  let account = try session.account()
  let status = try reporting { () throws(Fault) in try vault.status(account) }
  return (status, vault.configuration, false)
}

/// nil: nothing that can be chosen.
private func readChoice(_ count: Int) throws(Failure) -> Int? {
  var secrets = try newSecrets()
  guard secrets.line.readFromInput() == .line else { return nil }
  let line = secrets.line.read { Bytes($0) }
  guard let number = decimal(line[...]), (1...UInt64(count)).contains(number) else { return nil }
  return Int(number) - 1
}
