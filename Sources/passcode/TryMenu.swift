internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// `try` on a terminal: a newcomer does it all with their own hands.
struct TryMenu {
  let bed: TryBed

  private struct Choice {
    let key: Text
    let title: Text
    let run: (TryMenu) throws(Failure) -> Void
  }

  private static func choices() -> [Choice] {
    [
      Choice(key: "1", title: "set a passcode") { (menu: TryMenu) throws(Failure) in
        _ = try menu.bed.direct.enroll()
      },
      Choice(key: "2", title: "log in, right or wrong") { (menu: TryMenu) throws(Failure) in
        try menu.bed.logIn(.terminal)
      },
      Choice(key: "3", title: "watch the lock count down") { (menu: TryMenu) throws(Failure) in
        try menu.watch()
      },
      Choice(key: "4", title: "unlock it") { (menu: TryMenu) throws(Failure) in try menu.unlock() },
      Choice(key: "5", title: "change it") { (menu: TryMenu) throws(Failure) in
        _ = try menu.bed.direct.change()
      },
      Choice(key: "6", title: "remove it") { (menu: TryMenu) throws(Failure) in try menu.remove() },
      Choice(key: "q", title: "quit: the store is thrown away") { (_: TryMenu) throws(Failure) in },
    ]
  }

  func play() throws(Failure) -> ExitStatus {
    printLine(
      "This is a throw-away store: nothing on this system changes. Log-ins go through the real module.\n")
    while true {
      try showState()
      for choice in TryMenu.choices() { printLine("  \(choice.key)  \(choice.title)") }
      Stream.output.write("Your choice: ")
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

  /// Until it is over, or Enter is pressed.
  private func watch() throws(Failure) {
    while case .locked(let milliseconds) = try status().state {
      Stream.output.write("\r    locked, \(Words.remaining(milliseconds)) left (Enter: back)   ")
      if inputIsReady(within: 1_000) {
        _ = try readKey()
        return
      }
    }
    printLine("    not locked")
  }

  private func unlock() throws(Failure) {
    let done = try reporting { () throws(Fault) in try bed.vault.unlock(bed.account, by: .direct) }
    printLine(done == true ? "    unlocked" : "    there was nothing to unlock")
  }

  private func remove() throws(Failure) {
    let done = try reporting { () throws(Fault) in try bed.vault.remove(bed.account, by: .direct) }
    printLine(done ? "    removed" : "    there was none")
  }
}
