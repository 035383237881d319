internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One run of the tool: who asks for what, with which options.
final class Session {
  var operands: [Bytes]
  var configurationPath: Bytes?
  /// The way in which passcodes are asked for: at a terminal, from standard input, or from a script.
  var asker = Asker.terminal
  /// The options on the command line. What follows some of them is in the properties here.
  private var options: [Command.Option] = []
  var length: Int?
  /// The terms of the passcodes that are set: `--expires`, `--must-change`.
  var terms = NewTerms()
  /// The PCRs to which `key seal` binds the key.
  var pcrs: Bytes?
  /// A list of users; "-": standard input.
  var batchPath: Bytes?
  var outputPath: Bytes?
  /// Milliseconds that a hash may take.
  var target: UInt64 = 250
  /// The preset that `configure` writes into the configuration file, or only shows.
  var preset: Preset?
  /// `list`: only records in this state (`Status.stateName`), and only those that were set, used or mistyped in the last
  /// so many seconds.
  var state: Bytes?
  var since: UInt64?
  /// Part of `try`: nothing of it belongs in the system's log.
  var isTrial = false
  let process = ProcessIdentity.current()

  init(operands: [Bytes]) {
    self.operands = operands
  }

  @inline(never)
  func has(_ option: Command.Option) -> Bool { options.contains(option) }

  var isQuiet: Bool { has(.quiet) }
  var wantsJSON: Bool { has(.json) }
  var generates: Bool { has(.generate) }

  func take(_ option: Command.Option, _ value: Bytes) throws(Failure) {
    options.append(option)
    switch option {
    case .conf:
      guard isPlainPath(value[...]) else { throw .confPath }
      configurationPath = value
    case .length:
      guard value.spells("4") || value.spells("6") else { throw .lengthValue }
      length = value.spells("4") ? 4 : 6
    // A contract is in one language, and so is what goes with it.
    case .json: Catalogue.useEnglish()
    case .stdin: asker = .input
    case .expires: try takeEnd(value)
    case .mustChange: terms.mustChange = true
    case .pcrs:
      guard SealedKey.isPCRs(value) else { throw .pcrsValue }
      pcrs = value
    case .batch: batchPath = value
    case .output: outputPath = value
    case .target:
      guard let milliseconds = Calibration.milliseconds(value[...]) else { throw .targetValue }
      target = milliseconds
    case .preset:
      guard let preset = Preset.named(value[...]) else { throw .noPreset(value) }
      self.preset = preset
    case .state:
      guard number(of: value[...], among: Status.stateNames) != nil else { throw .stateValue }
      state = value
    case .since:
      guard let seconds = duration(value[...]) else { throw .sinceValue }
      since = seconds
    case .quiet, .help, .version, .generate, .force, .demo, .check, .forgetSealed, .all, .evenLockedOut,
      .show, .skipEnrolled, .write, .dryRun:
      break
    }
  }

  /// Takes the end of a passcode's validity: a duration, or a moment in the same range.
  private func takeEnd(_ value: Bytes) throws(Failure) {
    if let seconds = NewTerms.seconds(value) {
      terms.seconds = seconds
      return
    }
    let now = SystemClock.wallSeconds()
    guard let moment = LocalMoment(value),
      let end = SystemClock.seconds(
        year: moment.year, month: moment.month, day: moment.day, minutes: moment.minutes),
      end >= now + NewTerms.shortest, end <= now + NewTerms.longest
    else { throw .expiresValue }
    terms.until = end
  }

  /// Whether the command is for the users of a list, or for everybody.
  var isBatch: Bool { batchPath != nil || has(.all) }

  /// - Throws: if there is an operand or an option that doesn't go with `--batch`, or with `--all`.
  func checkBatch() throws(Failure) {
    if has(.all), batchPath != nil || has(.stdin) || !operands.isEmpty { throw .notWithAll }
    if has(.stdin) || has(.force) || !operands.isEmpty { throw .notWithBatch }
    if !generates, outputPath != nil || has(.show) || length != nil { throw .outputNeedsGenerate }
  }

  /// - Throws: if anyone but root used an option that only root may use.
  func checkOptions(_ access: Access) throws(Failure) {
    guard access != .root else { return }
    if has(.force) { throw .onlyRootUses(.force) }
    if terms.expires { throw .onlyRootUses(.expires) }
    if terms.mustChange { throw .onlyRootUses(.mustChange) }
  }

  /// The account named, or one's own.
  func account() throws(Failure) -> Account {
    let lookup = operands.first.map { Account.named($0) } ?? Account.numbered(process.real)
    switch lookup {
    case .found(let account): return account
    case .unknown:
      if let name = operands.first { throw .noAccount(name) }
      throw .fault(Fault(.noAccount, number: UInt64(process.real)))
    case .failed(let error): throw .fault(Fault(.accountLookup, error: error.code))
    }
  }

  func configuration() throws(Failure) -> Configuration {
    try reporting { () throws(Fault) in
      try Configuration.load(ModuleLine(configuration: configurationPath), process)
    }
  }

  /// The vault, for those who reach the store directly: root, or a person with a store of their own.
  func vault() throws(Failure) -> Vault {
    let configuration = try configuration()
    guard configuration.access != .helper else {
      throw .onlyRoot
    }
    return try vault(configuration)
  }

  /// A vault for questions about the configuration only, which anybody may ask.
  func anyVault() throws(Failure) -> Vault {
    try vault(configuration())
  }

  private func vault(_ configuration: Configuration) throws(Failure) -> Vault {
    Vault(configuration, try startSodium()) { complain($0.noteText) }
  }

  /// Root learns who is in the way, by every command and for each line of a batch.
  func namingHolder(_ failure: Failure) -> Failure {
    guard let fault = failure.fault, process.real == 0, let vault = try? vault(),
      let holder = vault.holder(fault)
    else { return failure }
    return .held(fault, holder)
  }
}

func startSodium() throws(Failure) -> Sodium {
  guard let sodium = Sodium() else { throw .noLibrary }
  return sodium
}

func newSecrets() throws(Failure) -> Secrets {
  guard let secrets = Secrets(try startSodium()) else { throw .fault(Fault(.noMemory)) }
  return secrets
}
