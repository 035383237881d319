internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `try` on a terminal: a newcomer does it all with their own hands.
struct TryMenu {
  let bed: TryBed

  /// The rows of the menu, by the number that a person types.
  enum Choice: UInt64, CaseIterable {
    case enroll = 1
    case logIn, watch, unlock, change, remove
  }

  func play() throws(Failure) -> ExitStatus {
    printLine(.menuBegins)
    while true {
      Stream.output.write(try status().words(bed.vault.configuration.options.policy.store))
      for choice in Choice.allCases { Stream.output.write("  \(choice.rawValue)  \(choice.text)\n") }
      Stream.output.write("  q  \(Phrase.quit)\n")
      Stream.output.write(.menuQuestion)
      guard let key = try readKey(), !key.spells("q") else { return .done }
      guard let choice = decimal(key[...]).flatMap({ Choice(rawValue: $0) }) else { continue }
      // What went wrong here is part of the trying; the menu comes again.
      do throws(Failure) { try run(choice) } catch { complain(error.text) }
      Stream.output.write("\n")
    }
  }

  private func run(_ choice: Choice) throws(Failure) {
    switch choice {
    case .enroll: _ = try bed.direct.enroll()
    case .logIn: try bed.logIn(.terminal)
    case .watch: try watch()
    case .unlock: try unlock()
    case .change: _ = try bed.direct.change()
    case .remove: try remove()
    }
  }

  private func status() throws(Failure) -> Status {
    try reporting { () throws(Fault) in try bed.vault.status(bed.account) }
  }

  /// nil: end of input.
  private func readKey() throws(Failure) -> Bytes? {
    var secrets = try newSecrets()
    switch secrets.line.readFromInput() {
    case .line: return secrets.line.read { Bytes($0) }
    case .tooLong: return []
    case .endOfFile, .interrupted, .failed: return nil
    }
  }

  /// Counts a delay down until it is over, or Enter is pressed.
  private func watch() throws(Failure) {
    while case let told = try status().told, told.state == .locked {
      Stream.output.write(.countdown(Remaining(milliseconds: told.milliseconds)))
      if inputIsReady(within: 1_000) {
        _ = try readKey()
        return
      }
    }
    printLine(.notLocked)
  }

  private func unlock() throws(Failure) {
    let done = try reporting { () throws(Fault) in try bed.vault.unlock(bed.account, by: .direct) }
    printLine(done == true ? .unlocked : .nothingToUnlock)
  }

  private func remove() throws(Failure) {
    let done = try reporting { () throws(Fault) in try bed.vault.remove(bed.account) }
    printLine(done ? .removed : .nothingToRemove)
  }
}
