internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One run of the tool: who asks for what, with which options.
final class Session {
  var operands: [Bytes]
  var configurationPath: Bytes?
  /// The way in which passcodes are asked for: at a terminal, from standard input, or from a script.
  var asker = Asker.terminal
  var wantsHelp = false
  var wantsVersion = false
  var isQuiet = false
  var wantsJSON = false
  var length: Int?
  var generates = false
  /// The terms of the passcodes that are set: `--expires`, `--must-change`.
  var terms = NewTerms()
  var isForced = false
  /// `key`: only check a recovery copy; give up a sealed key that nothing opens.
  var onlyChecks = false
  var forgetsSealed = false
  var isDemo = false
  /// The PCRs to which `key seal` binds the key.
  var pcrs: Bytes?
  /// A list of users; "-": standard input.
  var batchPath: Bytes?
  /// `pause`, `resume`: everybody who has a passcode here.
  var isForAll = false
  /// `pause`: also those whose password can't end the pause.
  var pausesForGood = false
  var outputPath: Bytes?
  var shows = false
  var skipsEnrolled = false
  /// Milliseconds that a hash may take.
  var target: UInt64 = 250
  var writes = false
  /// The preset that `configure` writes into the configuration file, or only shows.
  var preset: Preset?
  var onlyShows = false
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

  func take(_ option: Command.Option, _ value: Bytes) throws(Failure) {
    switch option {
    case .conf:
      guard isPlainPath(value[...]) else { throw .confPath }
      configurationPath = value
    case .length:
      guard value.spells("4") || value.spells("6") else { throw .lengthValue }
      length = value.spells("4") ? 4 : 6
    case .quiet: isQuiet = true
    case .json:
      wantsJSON = true
      // A contract is in one language, and so is what goes with it.
      Catalogue.useEnglish()
    case .stdin: asker = .input
    case .generate: generates = true
    case .force: isForced = true
    case .expires: try takeEnd(value)
    case .mustChange: terms.mustChange = true
    case .demo: isDemo = true
    case .check: onlyChecks = true
    case .forgetSealed: forgetsSealed = true
    case .pcrs:
      guard SealedKey.isPCRs(value) else { throw .pcrsValue }
      pcrs = value
    case .batch: batchPath = value
    case .all: isForAll = true
    case .evenLockedOut: pausesForGood = true
    case .output: outputPath = value
    case .show: shows = true
    case .skipEnrolled: skipsEnrolled = true
    case .target: try takeTarget(value)
    case .write: writes = true
    case .preset: try takePreset(value)
    case .dryRun: onlyShows = true
    case .state:
      guard number(of: value[...], among: Status.stateNames) != nil else { throw .stateValue }
      state = value
    case .since:
      guard let seconds = duration(value[...]) else { throw .sinceValue }
      since = seconds
    case .help: wantsHelp = true
    case .version: wantsVersion = true
    }
  }

  private func takePreset(_ value: Bytes) throws(Failure) {
    guard let preset = Preset.named(value[...]) else { throw .noPreset(value) }
    self.preset = preset
  }

  private func takeTarget(_ value: Bytes) throws(Failure) {
    guard let milliseconds = Calibration.milliseconds(value[...]) else { throw .targetValue }
    target = milliseconds
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
  var isBatch: Bool { batchPath != nil || isForAll }

  /// - Throws: if there is an operand or an option that doesn't go with `--batch`, or with `--all`.
  func checkBatch() throws(Failure) {
    if isForAll {
      guard batchPath == nil, operands.isEmpty else { throw .notWithAll }
      if case .input = asker { throw .notWithAll }
    }
    if case .input = asker { throw .notWithBatch }
    guard operands.isEmpty, !isForced else { throw .notWithBatch }
    guard generates || outputPath == nil && !shows && length == nil else {
      throw .outputNeedsGenerate
    }
  }

  /// - Throws: if anyone but root used an option that only root may use.
  func checkOptions(_ access: Access) throws(Failure) {
    guard access != .root else { return }
    if isForced { throw .onlyRootUses(.force) }
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
  ///
  /// - Parameter background: `Vault.background`.
  func vault(background: BatchTurns? = nil) throws(Failure) -> Vault {
    let configuration = try configuration()
    guard configuration.access != .helper else {
      throw .onlyRoot
    }
    return try vault(configuration, background)
  }

  /// A vault for questions about the configuration only, which anybody may ask.
  func anyVault() throws(Failure) -> Vault {
    try vault(configuration())
  }

  private func vault(
    _ configuration: Configuration, _ background: BatchTurns? = nil
  ) throws(Failure) -> Vault {
    Vault(
      configuration, try startSodium(), clock: background?.clock ?? .system,
      background: background?.background
    ) {
      complain($0.noteText)
    }
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
