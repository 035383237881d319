internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

extension Session {
  /// Whether a pause would lock the account's owner out of the passcode until root ends it. Only root can tell.
  func mayNotPause(_ account: Account, _ vault: Vault) -> Bool {
    guard process.effective == 0, !has(.evenLockedOut), account.lacksPassword else { return false }
    if vault.configuration.options.policy.asksVerifier(account.uid) { return true }
    guard let status = try? vault.status(account) else { return true }
    return status.isEnrolled && status.state != .paused
  }

  /// Prints a message about something that worked, unless `--quiet` is set.
  func say(_ phrase: Phrase) {
    if !isQuiet { printLine(phrase) }
  }

  func say(_ act: Act, _ account: Account, already: Bool = false) {
    say(already ? act.already(account.name) : act.done(account.name))
  }

  /// Notes an administrative act in the system's log, with who really did it.
  ///
  /// - Parameter old: the account's name before.
  func note(_ act: Act, _ account: Account, from old: Bytes = []) {
    guard !isTrial else { return }
    var line = LogLine(act.event)
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    if !old.isEmpty { line.add("from", old) }
    log(&line)
  }

  /// Logs what was done with the machine key.
  func note(_ action: KeyAction) {
    var line = LogLine(action.event)
    log(&line)
  }

  private func log(_ line: inout LogLine) {
    line.add("by_uid", UInt64(process.real))
    line.add("loginuid", ProcessIdentity.loginUID())
    line.add("sudo_user", environment("SUDO_USER"))
    if terms.expires { line.add("expires_in", terms.secondsLeft(wall: SystemClock.wallSeconds())) }
    if terms.mustChange { line.add("must_change", Bytes(text: "yes")) }
    SystemLog.notice(line.text)
  }
}
