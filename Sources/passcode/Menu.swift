internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode` alone: one's own state, and what can be done next; on a terminal one can choose it there.
func runMenu(_ session: Session) throws(Failure) -> ExitStatus {
  let (status, configuration, isClosed) = try ownStatus(session)
  let finger = status.isFleets ? nil : FingerReport(status, session.stackReport())
  let choices =
    MenuChoice.list(status, isClosed: isClosed) + MenuChoice.forgotten(status, isClosed, configuration.access)
    + MenuChoice.list(finger)
  Stream.output.write(status.words(configuration.options.policy.store))
  Stream.output.write(wrapped(status.setting(finger).text))
  guard standardInputIsTerminal(), Stream.output.isTerminal else {
    for choice in choices { Stream.output.write("  \(choice.words(status.account)): \(choice.title.text)\n") }
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
  return try choices[index].run(session, status.account, finger)
}

struct MenuChoice {
  /// What a choice of the menu runs.
  enum Program {
    /// A command of ours.
    case ours(Text)
    /// One of fprintd's, with the person's name.
    case fprintds(Text)
  }

  let program: Program
  let title: Title

  enum Title {
    case enroll, change, unlock, remove, test, pause, resume
    case forgotten
    case addFinger, testFinger, removeFingers
  }

  /// The choices for a person who forgot the passcode, and proves themselves by the password; root is never asked for it.
  static func forgotten(_ status: Status, _ isClosed: Bool, _ access: Access) -> [MenuChoice] {
    guard access == .helper, !isClosed, !status.isFleets, status.isEnrolled, status.state != .disabled else {
      return []
    }
    return [ours("enroll", .forgotten)]
  }

  /// - Parameter isClosed: the password is no proof (`self_enroll=no`): what needs it is root's.
  static func list(_ status: Status, isClosed: Bool) -> [MenuChoice] {
    guard status.state != .disabled else { return [] }
    if status.isFleets {
      // By a one-time code, which also replaces a passcode that is locked out.
      guard status.isEnrolled, status.state != .exhausted else { return [ours("enroll", .enroll)] }
      if status.state == .paused { return [ours("resume", .resume)] }
      guard status.state == .ok else { return [] }
      return [ours("change", .change), ours("verify", .test), ours("pause", .pause)]
    }
    guard status.isEnrolled else { return isClosed ? [] : [ours("enroll", .enroll)] }
    let off = ours("remove", .remove)
    switch status.state {
    case .ok: return [ours("change", .change), off, ours("verify", .test), ours("pause", .pause)]
    case .paused: return [ours("resume", .resume)] + (isClosed ? [] : [off])
    case .locked, .exhausted: return isClosed ? [] : [ours("unlock", .unlock), off]
    case .disabled, .corrupt: return isClosed ? [] : [off]
    case .expired: return isClosed ? [] : [ours("enroll", .enroll), off]
    case .mustChange: return [ours("change", .change)] + (isClosed ? [] : [off])
    }
  }

  /// The choices that run fprintd's programs; fprintd decides who may use them.
  static func list(_ finger: FingerReport?) -> [MenuChoice] {
    guard let finger else { return [] }
    if finger.fingers != nil {
      return [
        MenuChoice(program: .fprintds("fprintd-verify"), title: .testFinger),
        MenuChoice(program: .fprintds("fprintd-delete"), title: .removeFingers),
      ]
    }
    guard finger.state == .ended(.notEnrolled) else { return [] }
    return [MenuChoice(program: .fprintds("fprintd-enroll"), title: .addFinger)]
  }

  private static func ours(_ command: Text, _ title: Title) -> MenuChoice {
    MenuChoice(program: .ours(command), title: title)
  }

  /// The command as a person would type it.
  func words(_ account: Account) -> Text {
    switch program {
    case .ours(let command): "passcode \(command)"
    case .fprintds(let name): "\(name) \(printable(account.name))"
    }
  }

  fileprivate func run(_ session: Session, _ account: Account, _ finger: FingerReport?) throws(Failure)
    -> ExitStatus
  {
    switch program {
    case .ours(let command): return try Command.named(command.bytes).run(as: session)
    case .fprintds(let name):
      let path: Text = "/usr/bin/\(name)"
      guard let status = PasscodePrograms.run(path.bytes, account.name) else { throw .cancelled }
      if status == 127 { throw .fault(Fault(.missing, path: path.bytes)) }
      guard status == 0 else { return .wrong }
      if case .addFinger = title, finger?.offering.isEmpty == true {
        Stream.output.write(MenuChoice.notOffered)
      }
      return .done
    }
  }
}

/// And the configuration, and whether that closes self-service.
private func ownStatus(_ session: Session) throws(Failure) -> (Status, Configuration, Bool) {
  if let own = try SelfService(session) {
    return (try own.status(), own.configuration, !own.configuration.options.policy.allowsSelfEnroll)
  }
  let vault = try session.vault()
  if let fleet = try FleetAccount(session) {
    return (try fleet.status(), vault.configuration, true)
  }
  let account = try session.account()
  let status = try reporting { () throws(Fault) in try vault.status(account) }
  return (status, vault.configuration, false)
}

/// Reads a number; nil if no choice has it.
private func readChoice(_ count: Int) throws(Failure) -> Int? {
  var secrets = try newSecrets()
  guard secrets.line.readFromInput() == .line else { return nil }
  let line = secrets.line.read { Bytes($0) }
  guard let number = decimal(line[...]), (1...UInt64(count)).contains(number) else { return nil }
  return Int(number) - 1
}
