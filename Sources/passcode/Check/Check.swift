internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One row of the table of `passcode check`. To add a check, add a row here, its function beside the others in this
/// folder, and what it finds to `CheckFinding` in Messages/Check+Words.swift.
struct Check {
  /// What a check needs; without it, the check is skipped.
  enum Need {
    case nothing
    /// A sound configuration, and the right to read the store.
    case store
    /// The check needs the default configuration: it is about the system.
    case system
    /// The check needs the default configuration and root.
    case root
  }

  let name: Literal
  let need: Need
  /// Looks, and reports findings. Changes nothing.
  let run: @Sendable (CheckRun) -> Void

  /// In the order of the report: what others depend on comes first.
  static func table() -> [Check] {
    [
      Check(name: "configuration", need: .nothing, run: checkConfiguration),
      Check(name: "clock", need: .nothing, run: checkClocks),
      Check(name: "key", need: .store, run: checkKey),
      Check(name: "store", need: .store, run: checkStore),
      Check(name: "cost", need: .nothing, run: checkCost),
      Check(name: "module", need: .system, run: checkModule),
      Check(name: "services", need: .system, run: checkServices),
      Check(name: "finger", need: .system, run: checkFinger),
      Check(name: "profile", need: .system, run: checkProfile),
      Check(name: "units", need: .system, run: checkUnits),
      Check(name: "group", need: .system, run: checkGroup),
      Check(name: "runtime", need: .root, run: checkRuntime),
      Check(name: "apparmor", need: .root, run: checkAppArmor),
      Check(name: "fleet", need: .system, run: checkFleet),
      // Last: it asks the helper only where nothing else is wrong.
      Check(name: "helper", need: .system, run: checkHelper),
    ]
  }
}

/// `passcode check`: what is wrong with the installation, and what to do about it.
///
/// - Returns: `wrong` (1) if there was an error, otherwise `done` (0), whatever the warnings.
func runCheck(_ session: Session) throws(Failure) -> ExitStatus {
  let run = try CheckRun(session)
  for check in Check.table() { run.perform(check) }
  guard run.isWritten else { throw .unwritable }
  return run.errors == 0 ? .done : .wrong
}

/// One run over the table.
final class CheckRun {
  let session: Session
  let access: Access
  /// The defaults if the file has a fault: see `faults`.
  let configuration: Configuration
  /// Every fault of the configuration.
  let faults: [Fault]
  let vault: Vault
  let sodium: Sodium
  private(set) var errors = 0
  private(set) var isWritten = true
  /// The current check, and whether it has found anything.
  private var check: Literal = ""
  private(set) var hasFound = false
  /// What is said of a check that found nothing.
  var detail: Phrase = ""

  init(_ session: Session) throws(Failure) {
    self.session = session
    sodium = try startSodium()
    let line = ModuleLine(configuration: session.configurationPath)
    faults = Configuration.faults(line, session.process)
    access = try reporting { () throws(Fault) in
      try Access.of(session.process, ownConfiguration: line.configuration != nil)
    }
    configuration =
      (try? Configuration.load(line, session.process))
      ?? Configuration(options: Options(), access: access, isUsual: line.configuration == nil)
    vault = Vault(configuration, sodium) { _ in }
  }

  var isOfSystem: Bool { session.configurationPath == nil }

  func perform(_ check: Check) {
    self.check = check.name
    hasFound = false
    detail = ""
    if let reason = reasonToSkip(check.need) { skip(reason) } else { check.run(self) }
    if !hasFound { write(.ok, CheckWords(detail)) }
  }

  private func reasonToSkip(_ need: Check.Need) -> CheckSkip? {
    switch need {
    case .nothing: nil
    case .store: faults.isEmpty ? access == .helper ? .needsRoot : nil : .badConfiguration
    case .system: isOfSystem ? nil : .otherConfiguration
    case .root: !isOfSystem ? .otherConfiguration : access == .root ? nil : .needsRoot
    }
  }

  /// Reports that the current check, or the rest of it, was left out.
  func skip(_ reason: CheckSkip) {
    hasFound = true
    write(.skipped, CheckWords(reason.text))
  }

  @inline(never)
  func tell(_ finding: CheckFinding) {
    hasFound = true
    if finding.level == .error { errors += 1 }
    write(finding.level, finding.words)
  }

  /// Counts what a program of another package has found and written itself.
  func add(_ status: UInt8?) {
    hasFound = true
    if status != 0 { errors += 1 }
  }

  @inline(never)
  private func write(_ level: CheckLevel, _ words: CheckWords) {
    if session.isQuiet, level == .ok || level == .skipped { return }
    let line =
      session.wantsJSON
      ? words.json(Text(check), level) : words.line(Text(check), level)
    isWritten = isWritten && Stream.output.write(line)
  }
}
