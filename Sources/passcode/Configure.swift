internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode configure --preset NAME`: shows what the preset would change in the configuration file, asks, and writes it
/// there. Everything else in the file stays as it is.
///
/// - It MUST write what it has shown, or nothing: a file that was changed meanwhile is left alone.  test_configure.py
/// - Cut off anywhere, it MUST leave the old file or the new one.                                   test_configure.py
func runConfigure(_ session: Session) throws(Failure) -> ExitStatus {
  guard let preset = session.preset else { throw .needsPreset }
  let configuration = try session.configuration()
  if !session.has(.dryRun), configuration.access == .helper { throw .onlyRoot }
  let path = session.configurationFile
  let (differences, change) = try reporting { () throws(Fault) in
    let text = try configuration.trust(.configuration).text(path) ?? []
    let differences = try preset.differences(from: text, path: path)
    return (differences, try preset.change(of: text, differences, path: path))
  }
  try refuse(preset, for: session, configuration)
  let hasChanged = change.before != change.after
  if hasChanged {
    try session.show(differences, change)
    if !session.has(.dryRun) { try write(change, path, session) }
  }
  try tell(preset, hasChanged, differences.count, session)
  return .done
}

private func write(_ change: ConfigurationChange, _ path: Bytes, _ session: Session) throws(Failure) {
  guard try session.agrees() else { throw .cancelled }
  var isOther = false
  try session.changeConfiguration { now in
    isOther = now != change.before
    return isOther ? now : change.after
  }
  if isOther { throw .changedMeanwhile(path) }
}

/// - Throws: where the preset would shut people out of their passcodes.
private func refuse(
  _ preset: Preset, for session: Session, _ configuration: Configuration
) throws(Failure) {
  // There the password is no login by itself, so nobody would ever have the first one.
  if configuration.options.policy.secondFactor { throw .notWithSecondFactor(preset) }
  guard configuration.access == .root, !session.has(.evenLockedOut) else { return }
  let vault = try session.vault()
  if let account = Account.firstWithoutPassword(where: { (try? vault.status($0))?.isEnrolled == true }) {
    throw .cannotProve(account.name)
  }
}

/// Prints whether the configuration file was changed, or has the preset already.
private func tell(
  _ preset: Preset, _ hasChanged: Bool, _ count: Int, _ session: Session
) throws(Failure) {
  let path = session.configurationFile
  let isWritten = hasChanged && !session.has(.dryRun)
  if session.wantsJSON {
    let name = Text(preset.name)
    let written: Text = isWritten ? "true" : "false"
    guard
      Stream.output.write(
        "{\"version\":1,\"preset\":\"\(name)\",\"path\":\"\(jsonEscaped(path))\",\"differences\":\(UInt64(count)),\"written\":\(written)}\n"
      )
    else { throw .unwritable }
  } else if isWritten {
    session.say(.presetWritten(preset, path))
  } else if !hasChanged {
    session.say(.presetHolds(preset, path))
  }
}

extension ConfigurationChange.Line {
  fileprivate var json: Text {
    let old: Text = number > 0 ? "\"\(jsonEscaped(ConfigurationChange.value(before)))\"" : "null"
    let place: Text = number > 0 ? "\(number)" : "null"
    return
      "{\"version\":1,\"option\":\"\(name)\",\"line\":\(place),\"before\":\(old),\"after\":\"\(ConfigurationChange.value(after))\"}\n"
  }
}

extension Session {
  /// The path of the configuration file: `--conf`, or the default file.
  var configurationFile: Bytes { configurationPath ?? Configuration.usualPath }

  /// Replaces the content of the configuration file at once; the file is created if there is none.
  func changeConfiguration(_ change: (Bytes) -> Bytes) throws(Failure) {
    let path = configurationFile
    let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    do throws(Errno) {
      try Descriptor.open(Bytes(path[...end]), .directory).replace(Bytes(path[(end + 1)...]), change)
    } catch {
      throw error == .wouldBlock ? .inUse(path) : .configuration(path, error)
    }
  }

  /// Whether the person who was shown the change wants it.
  fileprivate func agrees() throws(Failure) -> Bool {
    var secrets = try newSecrets()
    guard try asker.askLine(Question.agreement.text, &secrets.line) else { return false }
    return secrets.line.read { Bytes($0).spells("yes") }
  }

  /// Prints what would be changed, as `diff` does: `-` and a line that goes, `+` and one that comes.
  fileprivate func show(
    _ differences: [ConfigurationChange.Line], _ change: ConfigurationChange
  ) throws(Failure) {
    var text: Text = ""
    if wantsJSON {
      for difference in differences { text += difference.json }
    } else if !isQuiet || asker.isPatient {
      text = "\(printable(configurationFile))\n\(change.shown)"
    }
    guard Stream.output.write(text) else { throw .unwritable }
  }
}
