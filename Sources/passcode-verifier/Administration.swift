internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// An administrator's commands, as root on a server. Exit statuses are those of passcode(1).
enum Administration {
  static func run(_ command: Bytes, _ account: Bytes, _ words: Int, _ readsInput: Bool) -> Int32 {
    let takesAccount = ["enroll", "remove", "unlock", "disable", "enable", "status"].contains {
      command.spells($0)
    }
    let isAlone = ["init", "restored", "list", "seen"].contains { command.spells($0) }
    guard takesAccount && words == 2 || isAlone && words == 1 else {
      Stream.error.write(Words.usage)
      return 2
    }
    guard ProcessIdentity.current().effective == 0 else {
      Stream.error.write(Words.needsRoot)
      return 6
    }
    guard let sodium = Sodium() else { return 7 }
    do throws(Fault) {
      return try run(command, account, readsInput, sodium)
    } catch {
      Stream.error.write(Words.failed(error.text))
      return 7
    }
  }

  private static func run(
    _ command: Bytes, _ account: Bytes, _ readsInput: Bool, _ sodium: Sodium
  ) throws(Fault) -> Int32 {
    let configuration = try Configuration.load(ModuleLine(configuration: nil), ProcessIdentity.current())
    if command.spells("init") { return try initialize(sodium) }
    let vault = Vault(configuration, sodium) { SystemLog.notice($0.logLine) }
    if command.spells("restored") { return try declareRestored(vault) }
    let fleet = try FleetServer.open(vault) {}
    if command.spells("seen") {
      try fleet.noteEpoch()
      return 0
    }
    if command.spells("enroll") { return try enroll(account, readsInput, fleet, sodium) }
    if command.spells("status") { return try show(account, fleet) }
    if command.spells("list") {
      for account in try fleet.accounts() { _ = try show(account, fleet) }
      return 0
    }
    let changed: Bool?
    if command.spells("remove") {
      changed = try fleet.remove(account) ? true : nil
    } else if command.spells("unlock") {
      changed = try fleet.unlock(account)
    } else {
      changed = try fleet.disable(account, command.spells("disable"))
    }
    guard changed != nil else {
      Stream.error.write(Words.noPasscode)
      return 3
    }
    log(command, account)
    return 0
  }

  private static func log(_ command: Bytes, _ account: Bytes) {
    var line = LogLine(Text("passcode-verifier: \(command)"))
    line.add("user", account)
    SystemLog.notice(line.text)
  }

  private static func show(_ account: Bytes, _ fleet: FleetVault<EtcdClient>) throws(Fault) -> Int32 {
    let status = try fleet.status(account)
    Stream.output.write(Words.line(account, status))
    return status.isEnrolled ? 0 : 3
  }

  /// Makes the fleet key, and the folder of what this server keeps.
  private static func initialize(_ sodium: Sodium) throws(Fault) -> Int32 {
    guard let service = serviceAccount() else {
      Stream.error.write(Words.noServiceAccount)
      return 7
    }
    do throws(Errno) {
      if (try? FileStatus.of(FleetServer.statePath)) == nil {
        try makeDirectory(FleetServer.statePath, mode: 0o700)
        try Descriptor.open(FleetServer.statePath, .directory).setOwner(service.uid, group: service.gid)
      }
    } catch {
      throw Fault(.failed, path: FleetServer.statePath, error: error.code)
    }
    try FleetKey.create(FleetKey.usualPath, group: service.gid, sodium)
    return 0
  }

  /// Raises the epoch, then forgets how far etcd had come: from here on each passcode must be unlocked, and the other
  /// servers refuse everything until this command was run there, too. Each step may be repeated.
  private static func declareRestored(_ vault: Vault) throws(Fault) -> Int32 {
    let configuration = vault.configuration
    try FleetKey(FleetKey.usualPath, configuration).raiseEpoch()
    try SeenFile(SeenFile.usualPath, for: configuration.access).forget()
    let epoch = try FleetServer.open(vault) {}.declareEpoch()
    let key = try FleetKey(FleetKey.usualPath, configuration)
    if epoch > key.epoch { try key.raiseEpoch(to: epoch) }
    return 0
  }

  private static func enroll(
    _ account: Bytes, _ readsInput: Bool, _ fleet: FleetVault<EtcdClient>, _ sodium: Sodium
  ) throws(Fault) -> Int32 {
    guard var secrets = Secrets(sodium) else { throw Fault(.noMemory) }
    guard read(&secrets.line, Words.first, readsInput),
      secrets.change.new.passcode.take(secrets.line) == .passcode
    else {
      Stream.error.write(Words.notDigits)
      return 5
    }
    if !readsInput {
      guard read(&secrets.line, Words.second, readsInput),
        secrets.change.new.passcode.isRepeated(in: secrets.line)
      else {
        Stream.error.write(Words.mismatch)
        return 5
      }
    }
    secrets.line.wipe()
    do throws(EnrolmentError) {
      try fleet.enroll(account, secrets.change, &secrets.unsealed, by: .direct)
    } catch {
      switch error {
      case .fault(let fault): throw fault
      case .refused:
        Stream.error.write(Words.refused)
        return 5
      }
    }
    log(Bytes(text: "enroll"), account)
    return 0
  }

  private static func read(_ line: inout TypedLine, _ prompt: Bytes, _ readsInput: Bool) -> Bool {
    if readsInput { return line.readFromInput() == .line }
    guard let terminal = Terminal() else { return false }
    return line.read(from: terminal, prompt: prompt) == .line
  }
}
