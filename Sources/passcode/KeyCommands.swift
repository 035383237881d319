internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// `passcode key`: each action calls one function of the Vault, and says how it went.

/// What can be done with the machine key.
enum KeyAction: CaseIterable {
  case initialise, status, seal, mount, load, unseal, recover, rotate

  /// The action's name on the command line.
  var name: Text {
    switch self {
    case .initialise: "init"
    case .status: "status"
    case .seal: "seal"
    case .mount: "mount"
    case .load: "load"
    case .unseal: "unseal"
    case .recover: "recover"
    case .rotate: "rotate"
    }
  }

  /// The log's words for what was done with the machine key.
  var event: Text { "machine key \(name)" }
}

func runKey(_ session: Session) throws(Failure) -> ExitStatus {
  let vault = try session.vault()
  let policy = vault.configuration.options.policy
  let word = session.operands.first
  guard let action = KeyAction.allCases.first(where: { $0.name.bytes == word }) else {
    throw .operands("key", .keyAction)
  }
  try session.checkOptions(vault.configuration.access)
  guard let room = KeyRoom(try startSodium()) else { throw .fault(Fault(.noMemory)) }
  if action == .recover { return try recoverKey(session, vault, room) }
  do throws(Fault) {
    switch action {
    case .initialise where session.has(.forgetSealed): return try forgetSealedKey(session, vault, room)
    case .initialise:
      session.say(try vault.createKey() ? .keyCreated(policy.keyFile) : .storeCreated(policy.store))
    case .status:
      let form = try vault.examineKey(room)
      for folder in try vault.sharedFolders() { complain(.sharedFolder(folder)) }
      session.say(form.text)
      session.say(.keyID(vault.keyIDs(room)))
    case .seal:
      try vault.sealKey(room, pcrs: session.pcrs) { (key) throws(Fault) in try show(key, session) }
      session.note(action)
      session.say(.keySealed(policy.keyFile))
      sayWhatRemains(session, vault)
    case .mount: try vault.mountForKeys(room)
    case .load: session.say(try vault.loadKey(room) ? .keyLoaded : .nothingSealed)
    case .unseal:
      let path = try vault.unsealKey(room)
      session.note(action)
      session.say(.keyUnsealed(path))
    case .recover: break
    case .rotate:
      let count = try vault.rotateKey(room, mustChange: session.terms.mustChange) { (key) throws(Fault) in
        try show(key, session)
      }
      session.note(action)
      session.say(.keyRotated(count))
      sayWhatRemains(session, vault)
    }
  } catch {
    throw .fault(error)
  }
  return .done
}

private func sayWhatRemains(_ session: Session, _ vault: Vault) {
  session.say(vault.overwritesInPlace ? .oldKeyOverwritten : .oldKeyKept)
  session.say(session.terms.mustChange ? .passcodesMustChange : .passcodesKnown)
}

/// Shows the recovery copy, the one way in which the key leaves; its lines lie in guarded memory until then.
///
/// - Throws: `copyNotOnTerminal` where it would be kept in a file or a log, unless that is forced.
private func show(_ key: borrowing SecretKey, _ session: Session) throws(Fault) {
  guard Stream.output.isTerminal || session.has(.force) else { throw Fault(.copyNotOnTerminal) }
  guard write(key) else { throw Fault(.copyNotShown) }
}

private func write(_ key: borrowing SecretKey) -> Bool {
  guard var secrets = try? newSecrets(), Stream.output.write("\(Phrase.recoveryCopy)\n\n") else {
    return false
  }
  // So that papers can be told apart.
  let name = (try? readKernelFile(Bytes(text: "/proc/sys/kernel/hostname"))) ?? []
  let host = name.prefix { $0 != UInt8(ascii: "\n") }
  let time = SystemClock.localTime(SystemClock.wallSeconds())
  guard Stream.output.write("    \(printable(Bytes(host))), \(time), \(hexadecimal(key.id))\n\n") else {
    return false
  }
  for number in 1...RecoveryCopy.lines {
    for blank in Bytes(text: "    ") { secrets.line.append(blank) }
    key.read { RecoveryCopy.write(number, of: $0) { secrets.line.append($0) } }
    secrets.line.append(UInt8(ascii: "\n"))
  }
  secrets.line.append(UInt8(ascii: "\n"))
  return Stream.output.write(secrets.line)
}

private func recoverKey(
  _ session: Session, _ vault: Vault, _ room: KeyRoom
) throws(Failure) -> ExitStatus {
  var secrets = try newSecrets()
  try askLines(session.asker, &secrets)
  if session.has(.check) { return try checkRecovery(session, vault, room, secrets.unsealed.key) }
  let isRotating: Bool
  do throws(Fault) {
    isRotating = try vault.recoverKey(secrets.unsealed.key, room, pcrs: session.pcrs)
  } catch {
    throw .fault(error)
  }
  session.note(KeyAction.recover)
  session.say(isRotating ? .rotationGoesOn : .keyRecovered)
  return .done
}

private func checkRecovery(
  _ session: Session, _ vault: Vault, _ room: KeyRoom, _ key: borrowing SecretKey
) throws(Failure) -> ExitStatus {
  do throws(Fault) {
    let (opened, enrolled, isInUse) = try vault.checkRecovery(key, room)
    session.say(.recoveryFits(opened: opened, enrolled: enrolled))
    session.say(.keyID([key.id]))
    return opened == enrolled && (isInUse || enrolled > 0) ? .done : .wrong
  } catch {
    throw .fault(error)
  }
}

/// Says what is lost, and asks.
private func forgetSealedKey(_ session: Session, _ vault: Vault, _ room: KeyRoom) throws(Fault) -> ExitStatus
{
  let isDone = try vault.forgetSealedKey(room) { count in
    guard var secrets = try? newSecrets() else { return false }
    session.asker.tell(.passcodesLost(count))
    guard (try? session.asker.askLine(Question.agreement.text, &secrets.line)) == true else { return false }
    return secrets.line.read {
      $0.count == 3 && $0[0] == UInt8(ascii: "y") && $0[1] == UInt8(ascii: "e") && $0[2] == UInt8(ascii: "s")
    }
  }
  guard isDone else { return .cancelled }
  session.note(.initialise)
  session.say(.keyCreated(vault.configuration.options.policy.keyFile))
  return .done
}

// With the secrets of its caller: see `Direct`.
private func askLines(_ asker: Asker, _ secrets: inout Secrets) throws(Failure) {
  for number in 1...RecoveryCopy.lines {
    try ask(asker, number, &secrets.line, &secrets.unsealed.key)
  }
}

/// Asks for a line of the recovery copy until it is right, three times at most.
private func ask(
  _ asker: Asker, _ number: Int, _ line: inout TypedLine, _ key: inout SecretKey
) throws(Failure) {
  defer { line.wipe() }
  for _ in 0..<3 {
    let isWhole = try asker.askLine(Question.recoveryLine(number).text, &line)
    if isWhole, line.read({ RecoveryCopy.read($0, number: number) { key.set($0, at: $1) } }) { return }
    guard asker.isPatient else { break }
    asker.tell(.wrongLine(number))
  }
  throw .wrongRecoveryLine(number)
}
