internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One run of the tool: who asks for what, with which options.
struct Session {
  var operands: [Bytes]
  var configurationPath: Bytes?
  var isQuiet = false
  var wantsJSON = false
  var readsInput = false
  var length: Int?
  var generates = false
  var isForced = false
  var isDemo = false
  /// Part of `try`: nothing of it belongs in the system's log.
  var isTrial = false
  let process = ProcessIdentity.current()

  init(operands: [Bytes]) {
    self.operands = operands
  }

  mutating func take(_ option: Command.Option, _ value: Bytes) throws(Failure) {
    switch option {
    case .conf:
      guard isPlainPath(value[...]) else { throw Failure(.usage, "--conf wants an absolute path") }
      configurationPath = value
    case .length:
      guard value.spells("4") || value.spells("6") else { throw Failure(.usage, "--length wants 4 or 6") }
      length = value.spells("4") ? 4 : 6
    case .quiet: isQuiet = true
    case .json: wantsJSON = true
    case .stdin: readsInput = true
    case .generate: generates = true
    case .force: isForced = true
    case .demo: isDemo = true
    case .help, .version: break
    }
  }

  /// Where passcodes come from.
  var asker: Asker { readsInput ? .input : .terminal }

  /// Words about something that worked.
  func say(_ text: Text) {
    if !isQuiet { Stream.output.write("\(text)\n") }
  }

  /// The account named, or one's own.
  func account() throws(Failure) -> Account {
    let lookup = operands.first.map { Account.named($0) } ?? Account.numbered(process.real)
    switch lookup {
    case .found(let account): return account
    case .unknown:
      let name = operands.first ?? Text("uid \(process.real)").bytes
      throw Failure(.unusable, "no account \(printable(name))")
    case .failed(let error): throw Failure(.unusable, "the account can't be looked up: \(error.text)")
    }
  }

  /// The vault, for whoever reaches the store directly: root, or a person with a store of their own.
  func vault() throws(Failure) -> Vault {
    let configuration = try reporting { () throws(Fault) in
      try Configuration.load(path: configurationPath, arguments: [], process)
    }
    guard configuration.access != .helper else {
      throw Failure(.notPermitted, "only root reaches the passcodes: run it with sudo")
    }
    return try vault(configuration)
  }

  /// A vault for questions about the configuration only, which anybody may ask.
  func anyVault() throws(Failure) -> Vault {
    try vault(
      reporting { () throws(Fault) in
        try Configuration.load(path: configurationPath, arguments: [], process)
      })
  }

  private func vault(_ configuration: Configuration) throws(Failure) -> Vault {
    guard let sodium = Sodium() else { throw Failure(.unusable, "libsodium could not be initialised") }
    return Vault(configuration, sodium) { complain(Text($0)) }
  }

  /// The account named, if the caller may administer it: root any, a person with a store of their own the own one.
  func administeredAccount(_ vault: Vault) throws(Failure) -> Account {
    let account = try account()
    guard vault.configuration.access == .root || account.uid == process.real else {
      throw Failure(.notPermitted, "another person's passcode: only root can do that; run it with sudo")
    }
    return account
  }

  /// An account that the caller may administer, or, for root, the number of one that is gone: deleting it leaves its
  /// record, and while one is there no new key can be made.
  func removableAccount(_ vault: Vault) throws(Failure) -> Account {
    if let gone = accountThatIsGone(vault) { return gone }
    return try administeredAccount(vault)
  }

  private func accountThatIsGone(_ vault: Vault) -> Account? {
    guard vault.configuration.access == .root, let name = operands.first, let number = decimal(name[...]),
      number < UInt64(UInt32.max)
    else { return nil }
    let uid = UInt32(number)
    guard Account.named(name) == .unknown, Account.numbered(uid) == .unknown else { return nil }
    return Account(uid: uid, gid: uid, name: name)
  }

  /// Root learns who is in the way.
  func namingHolder(_ failure: Failure) -> Failure {
    guard process.real == 0, let vault = try? vault(), let account = try? account(),
      let holder = vault.holder(account.uid)
    else { return failure }
    return Failure(failure.status, "\(failure.text): \(holder); end it, or let it go on, and try again")
  }

  func secrets(_ vault: Vault) throws(Failure) -> Secrets {
    guard let sodium = Sodium(), let secrets = Secrets(sodium) else {
      throw Failure(.unusable, "no memory for a passcode")
    }
    return secrets
  }

  /// Notes an administrative act in the system's log, with who really did it.
  func note(_ act: Text, _ account: Account) {
    guard !isTrial else { return }
    var line = LogLine(act)
    line.add("user", account.name)
    line.add("uid", UInt64(account.uid))
    line.add("by_uid", UInt64(process.real))
    line.add("loginuid", ProcessIdentity.loginUID())
    line.add("sudo_user", environment("SUDO_USER"))
    SystemLog.notice(line.text)
  }
}
