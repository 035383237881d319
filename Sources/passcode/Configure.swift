internal import PasscodeAdmin
internal import PasscodePolicy
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
  if !session.onlyShows, configuration.access == .helper { throw .onlyRoot }
  let path = session.configurationFile
  let (before, differences, after) = try reporting { () throws(Fault) in
    let before = try configuration.text(path)
    return (
      before, try preset.differences(from: before, path: path), try preset.applied(to: before, path: path)
    )
  }
  try refuse(preset, for: session, configuration)
  let hasChanged = before != after
  if hasChanged { try session.show(differences, before, after) }
  if hasChanged, !session.onlyShows {
    guard try session.agrees() else { throw .cancelled }
    var isOther = false
    try session.changeConfiguration { now in
      isOther = now != before
      return isOther ? now : after
    }
    if isOther { throw .changedMeanwhile(path) }
  }
  try tell(preset, hasChanged, differences.count, session)
  return .done
}

/// - Throws: where the preset would shut people out of their passcodes.
private func refuse(
  _ preset: Preset, for session: Session, _ configuration: Configuration
) throws(Failure) {
  // There the password is no login by itself, so nobody would ever have the first one.
  if configuration.options.policy.secondFactor { throw .notWithSecondFactor(preset) }
  guard configuration.access == .root, !session.pausesForGood else { return }
  let vault = try session.vault()
  for uid in (try? vault.recordedUIDs()) ?? [] {
    if case .found(let account) = Account.numbered(uid), account.lacksPassword,
      (try? vault.status(account))?.isEnrolled == true
    {
      throw .cannotProve(account.name)
    }
  }
}

/// Prints whether the configuration file was changed, or has the preset already.
private func tell(
  _ preset: Preset, _ hasChanged: Bool, _ count: Int, _ session: Session
) throws(Failure) {
  let path = session.configurationFile
  let isWritten = hasChanged && !session.onlyShows
  if session.wantsJSON {
    let name = Text(stringLiteral: preset.name)
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

extension Preset.Difference {
  /// The value as it is; nil: the file doesn't set the option.
  private var value: Bytes? {
    guard let equals = before.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    return Bytes(before[(equals + 1)...].trimmed())
  }

  fileprivate var json: Text {
    let old: Text = value.map { "\"\(jsonEscaped($0))\"" } ?? "null"
    let place: Text = line > 0 ? "\(UInt64(line))" : "null"
    let name = Text(stringLiteral: setting.name)
    return
      "{\"version\":1,\"option\":\"\(name)\",\"line\":\(place),\"before\":\(old),\"after\":\"\(Text(stringLiteral: setting.value))\"}\n"
  }
}

extension Session {
  /// Whether the person who was shown the change wants it.
  fileprivate func agrees() throws(Failure) -> Bool {
    var secrets = try newSecrets()
    guard try asker.askLine(Question.agreement.text, &secrets.line) else { return false }
    return secrets.line.read { Bytes($0).spells("yes") }
  }

  /// Prints what would be changed, as `diff` does: `-` and a line that goes, `+` and one that comes.
  fileprivate func show(_ differences: [Preset.Difference], _ before: Bytes, _ after: Bytes) throws(Failure) {
    var text: Text = ""
    if wantsJSON {
      for difference in differences { text += difference.json }
    } else if !isQuiet || asker.isPatient {
      text += "\(printable(configurationFile))\n"
      for change in Preset.changes(from: before, to: after) {
        switch change {
        case .gone(let line): text += "-\(printable(line))\n"
        case .new(let line): text += "+\(printable(line))\n"
        }
      }
    }
    guard Stream.output.write(text) else { throw .unwritable }
  }
}
