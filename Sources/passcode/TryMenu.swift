internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `try` on a terminal: a newcomer does it all with their own hands.
struct TryMenu {
  let bed: TryBed

  enum Title {
    case enroll, logIn, watch, unlock, change, remove, quit
  }

  private struct Choice {
    let key: Text
    let title: Title
    let run: (TryMenu) throws(Failure) -> Void
  }

  private static func choices() -> [Choice] {
    [
      Choice(key: "1", title: .enroll) { (menu: TryMenu) throws(Failure) in
        _ = try menu.bed.direct.enroll()
      },
      Choice(key: "2", title: .logIn) { (menu: TryMenu) throws(Failure) in
        try menu.bed.logIn(.terminal)
      },
      Choice(key: "3", title: .watch) { (menu: TryMenu) throws(Failure) in
        try menu.watch()
      },
      Choice(key: "4", title: .unlock) { (menu: TryMenu) throws(Failure) in try menu.unlock() },
      Choice(key: "5", title: .change) { (menu: TryMenu) throws(Failure) in
        _ = try menu.bed.direct.change()
      },
      Choice(key: "6", title: .remove) { (menu: TryMenu) throws(Failure) in try menu.remove() },
      Choice(key: "q", title: .quit) { (_: TryMenu) throws(Failure) in },
    ]
  }

  func play() throws(Failure) -> ExitStatus {
    printLine(.menuBegins)
    while true {
      try showState()
      for choice in TryMenu.choices() { printLine("  \(choice.key)  \(choice.title.text)") }
      Stream.output.write(.menuQuestion)
      guard let key = try readKey(), !key.spells("q") else { return .done }
      guard let choice = TryMenu.choices().first(where: { $0.key.bytes == key }) else { continue }
      // What went wrong here is part of the trying; the menu comes again.
      do throws(Failure) { try choice.run(self) } catch { complain(error.text) }
      printLine("")
    }
  }

  private func showState() throws(Failure) {
    let status = try status()
    Stream.output.write(status.words(bed.vault.configuration.options.policy.store))
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
