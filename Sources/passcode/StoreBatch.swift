internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One command for each user of a list: `enroll|remove|unlock|disable|enable|pause|resume --batch FILE|-`; or for everybody
/// who has a passcode: `pause|resume --all`, whose lines are the records in the order of their uids. For root.
///
/// This process reads the list, looks accounts up, waits for a turn to hash and writes the results. For each line it makes
/// a copy of itself, a worker, which hashes and writes the record:
///
///     list -> BatchLines -> StoreBatch -> worker 1 … n -> Vault
///                             |  |  |       |
///                             |  |  |       +-> result: outcome  1 byte     BatchOutcome
///                             |  |  |                   reason   the rest   for people
///                             |  |  +-> BatchTurns
///                             |  +-> GuardedOutput (with --generate)
///                             +-> BatchReport
///
/// Besides what `Batch` says (test_batch.py shows each):
/// 1. A user MUST be handled once: a second line for the same uid is refused.        NumberSetTests
/// 2. A record MUST be written as by the command for one user. If a kill or a full disk interrupts an enrolment, running
///    the batch again with --skip-enrolled MUST finish it: nobody is left out.
/// 3. A passcode that --generate chose MUST be on the disk or in the pipe before its record is written: otherwise a
///    kill could leave a passcode that nobody knows. The file may therefore have a passcode that was never set; a
///    user's last line counts. Two batches MUST NOT write to one file.
/// 4. A line that needs a hash MUST NOT be begun before its turn (`BatchTurns`). Its worker has the hashing slot from the
///    start, and gives it back rather than wait for a record with it.
/// 5. If a worker dies, its process id MUST be shown, and its line fails. A worker MUST end when this process does: what is
///    cut off by that is finished by repeating it; its line in the system's log may be missing.
/// 6. Passcodes MUST be in guarded, locked memory only, a worker MUST have no passcode but its own, and each is wiped
///    when its line is finished.
final class StoreBatch: Batch {
  /// A line that a worker is doing.
  private struct Task {
    let line: UInt64
    let name: Bytes
    let worker: Worker
  }

  private let session: Session
  private let act: Act
  /// The command's name: the same on a fleet's server, which has all but `pause` and `resume`.
  private let command: Text
  private let vault: Vault
  private let turns: BatchTurns
  /// The accounts of `--all`, in place of a list's lines: all that have a record when the command begins.
  private let everybody: [UInt32]?
  /// How many of the accounts of `--all` have had their turn.
  private var begun = 0
  private var seen = NumberSet()
  private var tasks: [Task] = []

  init(_ session: Session, _ act: Act, _ command: Text) throws(Failure) {
    let vault = try session.vault()
    guard vault.configuration.access == .root else { throw .otherPerson }
    if act == .enrolled { try reporting { () throws(Fault) in try vault.checkReadiness() } }
    if act == .paused, vault.configuration.options.policy.secondFactor { throw .endlessPause }
    (self.session, self.act, self.command, self.vault) = (session, act, command, vault)
    turns = BatchTurns(vault)
    everybody = try session.has(.all) ? reporting { () throws(Fault) in try vault.recordedUIDs() } : nil
    let hasPasscodes = act == .enrolled && !session.generates
    let sodium = try startSodium()
    let lines = try BatchLines.open(
      session.batchPath ?? Bytes(text: "/dev/null"), hasPasscodes ? .userAndPasscode : .user,
      sodium)
    let path = session.outputPath ?? []
    if session.generates, path.isEmpty, session.wantsJSON { throw .jsonNeedsOutput }
    let output = session.generates ? try BatchOutput(path, orTerminal: session.has(.show)) : nil
    let manner = BatchManner(
      act, wantsJSON: session.wantsJSON, isQuiet: session.isQuiet, skipsEnrolled: session.has(.skipEnrolled),
      tellsSecrets: session.generates && path.isEmpty, isOfList: !session.has(.all))
    let report = BatchReport(manner, size: everybody?.count ?? lines.size) { complain($0) }
    try super.init(lines, output, sodium, report)
  }

  override var workers: [Worker] { tasks.map { $0.worker } }

  // Twice as many as can hash: so some hash while as many write, or wait for the disk.
  override var mostWorkers: Int { 2 * vault.parallelHashes }

  override var position: Int { everybody == nil ? super.position : begun }

  // MARK: A line

  override func next() -> BatchLines.Next {
    guard let everybody else { return super.next() }
    guard begun < everybody.count else { return .end }
    begun += 1
    return .user(decimalDigits(UInt64(everybody[begun - 1])))
  }

  override func begin(_ name: Bytes) throws(Failure) {
    let lookup = everybody.map { Account.numbered($0[begun - 1]) } ?? Account.named(name)
    switch lookup {
    case .failed(let error): try settle(name, .failed, Text(error.localText))
    case .found(let account) where everybody != nil:
      // What this machine has for an account of a fleet means nothing.
      if isFleets(account) { skip() } else { try begin(account, account.name) }
    // A deleted account: nobody can log in to it.
    case .unknown where everybody != nil: skip()
    // User and passcode may be the wrong way round: a passcode isn't shown.
    case .unknown: try settle(Answer(name.span) == .passcode ? [] : name, .unknownUser)
    case .found(let account):
      if seen.insert(account.uid) { try begin(account, name) } else { try settle(name, .repeated) }
    }
  }

  private func isFleets(_ account: Account) -> Bool {
    vault.configuration.options.policy.asksVerifier(account.uid)
  }

  private func begin(_ account: Account, _ name: Bytes) throws(Failure) {
    defer {
      secrets.line.wipe()
      secrets.change.new.passcode.wipe()
    }
    if act == .paused, session.mayNotPause(account, vault) { return try settle(name, .noPassword) }
    if act != .paused, act != .resumed, isFleets(account) {
      return try settle(name, .failed, Failure.fleets(command, account.name).text.text)
    }
    guard act == .enrolled else { return try go(name) { [self] _ in change(account) } }
    let result: (BatchOutcome, Text)?
    do throws(Failure) { result = try prepare(account, &secrets) } catch {
      return try settle(name, .failed, error.text.text)
    }
    if let (outcome, reason) = result { return try settle(name, outcome, reason) }
    if session.generates { try tell(account, &secrets) }
    try enroll(account, name)
  }

  /// Takes or chooses the new passcode.
  ///
  /// - Returns: the line's result if it is not to be set; nil: it is.
  private func prepare(
    _ account: Account, _ secrets: inout Secrets
  ) throws(Failure) -> (BatchOutcome, Text)? {
    if session.has(.skipEnrolled), try reporting({ () throws(Fault) in try vault.finishEnrolment(account) }) {
      return (.skipped, "")
    }
    if session.generates {
      try session.choice(vault, account).choose(&secrets.line, &secrets.change, generates: true)
      return nil
    }
    lines.copyPasscode(&secrets.line, &secrets.change.new.passcode)
    let choice: Choice
    do throws(Fault) { choice = try vault.judge(account, secrets.change) } catch { throw .fault(error) }
    if case .refused(let refusal) = choice { return Batch.result(refusal) }
    return nil
  }

  /// Writes a passcode that was made up to the output, before it is set.
  private func tell(_ account: Account, _ secrets: inout Secrets) throws(Failure) {
    try write(account.name, secrets.change.new.passcode, &secrets.line)
  }

  /// Waits for a turn to hash, and has a worker enrol the account then.
  private func enroll(_ account: Account, _ name: Bytes) throws(Failure) {
    while !Stops.isRequested {
      let wasHindered = turns.isHindered
      let turn: BatchTurns.Turn?
      do throws(Fault) { turn = try turns.take() } catch {
        let (outcome, reason) = failure(error)
        return try settle(name, outcome, reason)
      }
      if turns.isHindered, !wasHindered { note(.stuckSlots) }
      if var turn {
        return try go(name) { [self] secrets in
          enroll(account, secrets.change, &secrets.unsealed, turn.slot())
        }
      }
      try wait(milliseconds: 0)
    }
  }

  // MARK: Its worker

  /// Has a copy of this process do the current line.
  private func go(_ name: Bytes, _ body: (inout Secrets) -> (BatchOutcome, Text)) throws(Failure) {
    let worker: Worker
    do throws(Errno) {
      worker = try Worker.start(&secrets) { [self] secrets in
        leaveToParent()
        let (outcome, reason) = body(&secrets)
        secrets.line.wipe()
        secrets.change.new.passcode.wipe()
        return [outcome.rawValue] + reason.bytes
      }
    } catch {
      throw .noProcess(error)
    }
    tasks.append(Task(line: number, name: name, worker: worker))
    skip()
  }

  override func finish(_ ended: [Int]) throws(Failure) {
    for index in ended.reversed() {
      let task = tasks.remove(at: index)
      let message = task.worker.finish()
      let outcome = message.first.flatMap(BatchOutcome.init(rawValue:))
      let reason =
        outcome == nil ? Phrase.workerDied(task.worker.process).text : Text(Bytes(message.dropFirst()))
      try tell(BatchResult(task.line, task.name, outcome ?? .failed, reason))
    }
  }

  private func enroll(
    _ account: Account, _ passcode: borrowing PasscodeChange, _ unsealed: inout Unsealed,
    _ slot: consuming HashingSlots.Held?
  ) -> (BatchOutcome, Text) {
    do throws(EnrolmentError) {
      try vault.enroll(
        account, passcode, &unsealed, by: .direct, on: session.terms, under: slot,
        then: { [self] in session.note(act, account) })
      return (.done, "")
    } catch {
      switch error {
      case .refused(let refusal): return Batch.result(refusal)
      case .fault(let fault): return failure(fault)
      }
    }
  }

  private func change(_ account: Account) -> (BatchOutcome, Text) {
    do throws(Fault) { return (try change(account) { [self] in session.note(act, account) }, "") } catch {
      return failure(error)
    }
  }

  private func failure(_ fault: Fault) -> (BatchOutcome, Text) {
    (.failed, session.namingHolder(.fault(fault)).text.text)
  }

  private func change(_ account: Account, then done: @escaping () -> Void) throws(Fault) -> BatchOutcome {
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
