internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One command for each user of a list: `enroll|remove|unlock|disable|enable|pause|resume --batch FILE|-`; or for everybody
/// who has a passcode: `pause|resume --all`, whose lines are the records in the order of their uids. For root.
///
/// This process reads the list, looks accounts up and writes the results. For each line it makes a copy of itself, a
/// worker, which hashes and writes the record:
///
///     list -> BatchLines -> Batch -> worker 1 … n -> Vault
///                             |          |
///                             |          +-> result: outcome  1 byte     BatchOutcome
///                             |                      count    1 byte     of the stuck hashing slots,
///                             |                      slots    so many    which follow: `BatchTurns.stuckSlots`
///                             |                      reason   the rest   for people
///                             +-> GuardedOutput (with --generate)
///                             +-> BatchReport
///
/// test_batch.py shows each:
/// 1. A bad line MUST be named by its number and the reason, and MUST NOT stop the run. Its content MUST NOT be shown:
///    it may be a passcode.                                                          BatchLineTests
/// 2. A user MUST be handled once: a second line for the same uid is refused.        NumberSetTests
/// 3. A record MUST be written as by the command for one user. If a kill or a full disk interrupts an enrolment, running
///    the batch again with --skip-enrolled MUST finish it: nobody is left out.
/// 4. A passcode that --generate chose MUST be on the disk or in the pipe before its record is written: otherwise a
///    kill could leave a passcode that nobody knows. The file may therefore have a passcode that was never set; a
///    user's last line counts. Two batches MUST NOT write to one file.
/// 5. A hash MUST leave one hashing slot free for logins, unless there is only one. It waits for that, but not for
///    processes that don't move.                                                      `BatchTurns`
/// 6. If a worker dies, its process id MUST be shown, and its line fails.
/// 7. Ctrl-C, SIGTERM and SIGHUP (unless they are ignored) and every error of the batch itself MUST end it, but only
///    after all lines that were begun are finished. These are all lines up to a certain one, whose number MUST be shown.
///    A worker that still waits 2 s later, and has changed nothing, ends. If a later line is finished, its own line fails.
///    A worker whose parent was killed writes nothing.
/// 8. Passcodes MUST be in guarded, locked memory only, a worker MUST have no passcode but its own, and each is wiped
///    when its line is finished.
final class Batch {
  private let session: Session
  private let act: Act
  /// The command's name: the same on a fleet's server, which has all but `pause` and `resume`.
  private let command: Text
  private let vault: Vault
  private let background: BatchTurns
  /// Empty with `--all`.
  private var lines: BatchLines
  /// The accounts of `--all`, in place of a list's lines.
  private var everybody: BatchEverybody?
  /// nil: no passcodes are generated.
  private let output: BatchOutput?
  private var report: BatchReport
  /// The secrets of the line that is being begun.
  private var secrets: Secrets
  private var tasks: [BatchTask] = []
  /// The lines whose workers were stopped while they waited.
  private var undone: [BatchTask] = []
  private var seen = NumberSet()
  /// The number of the last line that was begun, or needed nothing.
  private var reached: UInt64 = 0

  init(_ session: Session, _ act: Act, _ command: Text) throws(Failure) {
    self.session = session
    self.act = act
    self.command = command
    let background: BatchTurns
    do throws(Errno) { background = BatchTurns(try Workers()) } catch { throw .noProcess(error) }
    let vault = try session.vault(background: background)
    guard vault.configuration.access == .root else { throw .otherPerson }
    if act == .enrolled { try reporting { () throws(Fault) in try vault.checkReadiness() } }
    if act == .paused, vault.configuration.options.policy.secondFactor { throw .endlessPause }
    let hasPasscodes = act == .enrolled && !session.generates
    self.vault = vault
    self.background = background
    everybody =
      try session.has(.all) ? BatchEverybody(reporting { () throws(Fault) in try vault.recordedUIDs() }) : nil
    lines = try BatchLines.open(
      session.batchPath ?? BatchEverybody.noList, hasPasscodes ? .userAndPasscode : .user, try startSodium())
    let path = session.outputPath ?? []
    if session.generates, path.isEmpty, session.wantsJSON { throw .jsonNeedsOutput }
    output = session.generates ? try BatchOutput(path, orTerminal: session.has(.show)) : nil
    let manner = BatchManner(
      act, wantsJSON: session.wantsJSON, isQuiet: session.isQuiet, skipsEnrolled: session.has(.skipEnrolled),
      tellsSecrets: session.generates && path.isEmpty, isOfList: !session.has(.all))
    report = BatchReport(manner, size: everybody?.uids.count ?? lines.size) { complain($0) }
    secrets = try newSecrets()
  }

  func run() throws(Failure) -> ExitStatus {
    Stops.hold()
    do throws(Failure) { try work() } catch {
      while !tasks.isEmpty { try? wait(false) }
      _ = try? leaveUndone()
      _ = try? report.finish(stoppedAt: reached)
      throw error
    }
    let isAll = try !leaveUndone() && lines.isAtEnd
    return try report.finish(stoppedAt: isAll ? nil : reached)
  }

  /// Takes lines at the end back that weren't done. A line before one that was done has failed.
  ///
  /// - Returns: whether it took any back.
  private func leaveUndone() throws(Failure) -> Bool {
    let last = reached
    while let place = undone.firstIndex(where: { $0.line == reached }) {
      undone.remove(at: place)
      reached -= 1
    }
    for task in undone {
      try report.tell(BatchResult(task.line, task.name, .failed, Phrase.notBegun.text))
    }
    undone = []
    return reached < last
  }

  private func work() throws(Failure) {
    // Twice as many as can hash: so some hash while as many write, or wait for the disk.
    let most = 2 * vault.parallelHashes
    var isOpen = true
    while isOpen || !tasks.isEmpty {
      var waitsForInput = false
      while isOpen, !waitsForInput, tasks.count < most {
        if !Stops.isRequested, let uid = everybody?.next() {
          try begin(uid)
          continue
        }
        switch Stops.isRequested ? .end : lines.next() {
        case .notYet: waitsForInput = true
        case .end: isOpen = false
        case .nothing: reached = number
        case .bad(let problem): try settle([], .badLine, problem.text.text)
        case .user(let name):
          if let account = try account(name) { try begin(account, name) }
        }
      }
      guard isOpen || !tasks.isEmpty else { return }
      try wait(waitsForInput)
      try report.progress(everybody?.position ?? lines.position)
    }
  }

  /// The number of the current line or account, from 1.
  private var number: UInt64 { everybody.map { UInt64($0.position) } ?? lines.number }

  private func wait(_ waitsForInput: Bool) throws(Failure) {
    if Stops.isRequested { for task in tasks { task.worker.passOnStops() } }
    let (ended, hasInput) = lines.wait(for: tasks.map { $0.worker }, orInput: waitsForInput)
    for index in ended.reversed() { try finish(tasks.remove(at: index)) }
    if hasInput { try lines.fill() }
  }

  private func finish(_ task: BatchTask) throws(Failure) {
    switch task.finish() {
    case .result(let result, let stuckSlots):
      if background.stuckSlots.isEmpty, !stuckSlots.isEmpty { report.note(.stuckSlots) }
      background.stuckSlots = stuckSlots
      // A removed passcode leaves a record.
      if everybody != nil, result.outcome == .notEnrolled { return }
      try report.tell(result)
    case .stopped where Stops.isRequested: undone.append(task)
    case .stopped, .died:
      let reason = Phrase.workerDied(task.worker.process).text
      try report.tell(BatchResult(task.line, task.name, .failed, reason))
    }
  }

  // MARK: A line

  /// Reports the result of the current line, which needs no worker.
  private func settle(_ name: Bytes, _ outcome: BatchOutcome, _ reason: Text = "") throws(Failure) {
    reached = number
    try report.tell(BatchResult(number, name, outcome, reason))
  }

  /// Begins with the owner of a record.
  private func begin(_ uid: UInt32) throws(Failure) {
    switch Account.numbered(uid) {
    // What this machine has for an account of a fleet means nothing.
    case .found where vault.configuration.options.policy.asksVerifier(uid): reached = number
    case .found(let account): try begin(account, account.name)
    // A deleted account: nobody can log in to it.
    case .unknown: reached = number
    case .failed(let error): try settle(decimalDigits(UInt64(uid)), .failed, Text(error.localText))
    }
  }

  private func begin(_ account: Account, _ name: Bytes) throws(Failure) {
    defer {
      secrets.line.wipe()
      secrets.change.new.passcode.wipe()
    }
    if act == .paused, session.mayNotPause(account, vault) { return try settle(name, .noPassword) }
    if act != .paused, act != .resumed, vault.configuration.options.policy.asksVerifier(account.uid) {
      return try settle(name, .failed, Failure.fleets(command, account.name).text.text)
    }
    let isPrepared: Bool
    do throws(Failure) { isPrepared = try prepare(account, &secrets) } catch {
      return try settle(name, .failed, error.text.text)
    }
    guard isPrepared else { return try settle(name, .skipped) }
    try tell(account, &secrets)
    tasks.append(BatchTask(line: number, name: name, worker: try startWorker(account)))
    reached = number
  }

  /// Writes a generated passcode to the output, before it is set.
  private func tell(_ account: Account, _ secrets: inout Secrets) throws(Failure) {
    try output?.write(account.name, secrets.change.new.passcode, &secrets.line)
  }

  /// nil: the line is finished, and its result was reported.
  private func account(_ name: Bytes) throws(Failure) -> Account? {
    switch Account.named(name) {
    case .found(let account):
      if seen.insert(account.uid) { return account }
      try settle(name, .repeated)
    case .unknown:
      // User and passcode may be the wrong way round: a passcode isn't shown.
      try settle(Answer(name.span) == .passcode ? [] : name, .unknownUser)
    case .failed(let error): try settle(name, .failed, Text(error.localText))
    }
    return nil
  }

  /// For an enrolment, takes or chooses the new passcode. false: the user is to be skipped, having one already.
  private func prepare(_ account: Account, _ secrets: inout Secrets) throws(Failure) -> Bool {
    guard act == .enrolled else { return true }
    if session.has(.skipEnrolled), try reporting({ () throws(Fault) in try vault.finishEnrolment(account) }) {
      return false
    }
    if session.generates {
      try session.choice(vault, account)
        .choose(&secrets.line, &secrets.change, generates: session.generates)
    } else {
      lines.copyPasscode(&secrets.line, &secrets.change.new.passcode)
    }
    return true
  }

  // MARK: Its worker

  private func startWorker(_ account: Account) throws(Failure) -> Worker {
    do throws(Errno) {
      return try Worker.start(&secrets) { [self] secrets in
        lines.wipe()
        output?.closeInCopy()
        let (outcome, reason) = perform(account, secrets.change, &secrets.unsealed)
        secrets.line.wipe()
        secrets.change.new.passcode.wipe()
        let stuck = background.stuckSlots
        return [outcome.rawValue, UInt8(stuck.count)] + stuck + reason.bytes
      }
    } catch {
      throw .noProcess(error)
    }
  }

  private func perform(
    _ account: Account, _ passcode: borrowing PasscodeChange, _ unsealed: inout Unsealed
  ) -> (BatchOutcome, Text) {
    let done = { [self] in session.note(act, account) }
    do throws(EnrolmentError) {
      guard act != .enrolled else {
        try vault.enroll(account, passcode, &unsealed, by: .direct, on: session.terms, then: done)
        return (.done, "")
      }
      do throws(Fault) { return (try change(account, done), "") } catch { throw .fault(error) }
    } catch {
      switch error {
      case .refused(.length): return (.wrongLength, "")
      case .refused(.weak(let weakness)): return (.weak, Phrase(weakness.sentence).text)
      case .fault(let fault): return (.failed, session.namingHolder(.fault(fault)).text.text)
      }
    }
  }

  private func change(_ account: Account, _ done: @escaping () -> Void) throws(Fault) -> BatchOutcome {
    let changed: Bool?
    switch act {
    case .enrolled, .changed, .renamed, .invited, .removed:
      changed = try vault.remove(account, then: done) ? true : nil
    case .unlocked: changed = try vault.unlock(account, by: .direct, then: done)
    case .disabled: changed = try vault.disable(account, true, then: done)
    case .enabled: changed = try vault.disable(account, false, then: done)
    case .paused: changed = try vault.pauseAtOnce(account, then: done)
    case .resumed: changed = try vault.pause(account, false, then: done)
    }
    guard let changed else { return .notEnrolled }
    return changed ? .done : .unchanged
  }
}
