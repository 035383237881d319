internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One command for each user of a list: `enroll|remove|unlock|disable|enable --batch FILE|-`. For root.
///
/// This process reads the list, looks accounts up and writes the results; its workers, copies of it, hash and write the
/// records. A worker has one line at a time:
///
///     list -> BatchLines -> Batch -> worker 1 … n -> Vault
///                             |          |
///                             +-> BatchOutput (with --generate)
///                             +-> BatchReport <- results
///
///     task      uid           4 bytes    little-endian
///               gid           4 bytes    little-endian
///               name          the rest
///     passcode  a message of its own, where one is to be set
///     result    outcome       1 byte     BatchOutcome
///               reason        the rest   for people
///
/// test_batch.py shows each:
/// 1. A line that is bad MUST be named by its number and reason, and stop nothing else. What it says MUST NOT be told:
///    it may be a passcode.                                                          BatchLineTests
/// 2. A user MUST be handled once: a second line for the same uid is refused.        NumberSetTests
/// 3. A record MUST be written as by the command for one user; what was cut off by a kill or a full disk is done by
///    running the batch again with --skip-enrolled: nobody is lost.
/// 4. A passcode that was made up MUST be on the disk or in the pipe before its record is written: else a kill could
///    leave a passcode that nobody knows. So a passcode that was written may not be set; the last one written is.
/// 5. One hashing slot MUST stay free for logins, unless there is only one.          `Vault.spareSlots`
/// 6. A worker that dies MUST be named, and MUST lose no line: another one does it, which twice is harmless. A line by
///    which two die fails.
/// 7. Ctrl-C, SIGTERM and SIGHUP MUST end it after the records that are being written, and it MUST say where it stood.
/// 8. Passcodes MUST be in guarded memory only, and wiped when their line is done.
final class Batch {
  let session: Session
  let act: Act
  let vault: Vault
  var lines: BatchLines
  var output: BatchOutput
  var report: BatchReport
  /// Each with the line it has; nil: none.
  var workers: [BatchWorker] = []
  var seen = NumberSet()

  init(_ session: Session, _ act: Act, _ source: Bytes) throws(Failure) {
    self.session = session
    self.act = act
    let vault = try session.vault(spareSlots: 1)
    guard vault.configuration.access == .root else { throw .otherPerson }
    if act == .enrolled { try reporting { () throws(Fault) in try vault.checkReadiness() } }
    let hasPasscodes = act == .enrolled && !session.generates
    self.vault = vault
    lines = try BatchLines.open(source, hasPasscodes ? .userAndPasscode : .user)
    output = try BatchOutput(session)
    report = BatchReport(session, act, size: lines.size)
  }

  func run() throws(Failure) -> ExitStatus {
    Stops.hold()
    for _ in 0...vault.parallelHashes { workers.append(try startWorker()) }
    var isOpen = true
    while true {
      if Stops.isRequested { isOpen = false }
      var waitsForInput = false
      while isOpen, let worker = workers.first(where: { $0.task == nil }) {
        switch try nextTask(worker) {
        case .given: continue
        case .notYet: waitsForInput = true
        case .end: isOpen = false
        }
        break
      }
      guard isOpen || workers.contains(where: { $0.task != nil }) else { break }
      try wait(waitsForInput)
      try report.progress(lines.position)
    }
    try end()
    return try report.finish(stoppedAt: lines.isAtEnd ? nil : lines.number)
  }

  private func wait(_ waitsForInput: Bool) throws(Failure) {
    let (answered, hasInput) = lines.wait(for: workers.map { $0.worker }, orInput: waitsForInput)
    for index in answered { try takeResult(index) }
    if hasInput { try lines.fill() }
  }

  // MARK: Lines

  private enum Given {
    case given, notYet, end
  }

  /// Reads on until there is a line for a worker.
  private func nextTask(_ worker: BatchWorker) throws(Failure) -> Given {
    while !Stops.isRequested {
      switch lines.next() {
      case .notYet: return .notYet
      case .end: return .end
      case .nothing: continue
      case .bad(let problem): try report.tell(BatchResult(lines.number, [], .badLine, problem.text))
      case .user(let name):
        let task = BatchTask(line: lines.number, name: name)
        guard let account = try account(task) else { continue }
        do throws(Failure) {
          guard try prepare(account, worker) else {
            try report.tell(task.result(.skipped))
            continue
          }
        } catch {
          try report.tell(task.result(.failed, error.text))
          continue
        }
        if session.generates { try output.write(account.name, worker.secrets.change.new) }
        worker.give(task, account)
        return .given
      }
    }
    return .end
  }

  /// nil: there is nothing to do, which was told.
  private func account(_ task: BatchTask) throws(Failure) -> Account? {
    switch Account.named(task.name) {
    case .found(let account):
      if seen.insert(account.uid) { return account }
      try report.tell(task.result(.repeated))
    case .unknown:
      // Perhaps user and passcode changed places: then this isn't to be told.
      let mayBePasscode = Answer(task.name.span) == .passcode
      try report.tell(BatchResult(task.line, mayBePasscode ? [] : task.name, .unknownUser))
    case .failed(let error): try report.tell(task.result(.failed, Text(error.text)))
    }
    return nil
  }

  /// Leaves the passcode to be set, if one is, with the worker; false: it has one already.
  private func prepare(_ account: Account, _ worker: BatchWorker) throws(Failure) -> Bool {
    guard act == .enrolled else { return true }
    if session.skipsEnrolled {
      let status = try reporting { () throws(Fault) in try vault.status(account) }
      if status.isEnrolled, status.state != .corrupt { return false }
    }
    try choosePasscode(account, &worker.secrets)
    return true
  }

  private func choosePasscode(_ account: Account, _ secrets: inout Secrets) throws(Failure) {
    if session.generates {
      try PasscodeChoice(session, vault, account).choose(&secrets.line, &secrets.change)
    } else {
      lines.copyPasscode(&secrets.line, &secrets.change)
    }
  }

  // MARK: Workers

  private func startWorker() throws(Failure) -> BatchWorker {
    let secrets = try newSecrets()
    do throws(Errno) {
      let worker = try Worker.start { [self] parent in
        // Closes the others' connections, too: each ends with this process.
        workers = []
        lines.wipe()
        serve(parent)
      }
      return BatchWorker(worker, secrets)
    } catch {
      throw .batch(.noProcess(error))
    }
  }

  private func takeResult(_ index: Int) throws(Failure) {
    let worker = workers[index]
    guard let task = worker.task else { return }
    guard let answer = worker.worker.receive(), let result = task.result(answer) else {
      return try replace(index, task)
    }
    worker.finish()
    try report.tell(result)
  }

  /// MUST 6.
  private func replace(_ index: Int, _ task: BatchTask) throws(Failure) {
    let dead = workers[index]
    let process = dead.worker.process
    complain(BatchMessage.workerDied(UInt64(process), task.line).text)
    workers[index] = try startWorker()
    if dead.isSecond {
      try report.tell(task.result(.failed, BatchMessage.twoDied.text))
    } else {
      workers[index].inherit(dead)
    }
    Worker.reap(process)
  }

  private func end() throws(Failure) {
    let processes = workers.map { $0.worker.process }
    workers = []
    for process in processes { Worker.reap(process) }
  }
}
