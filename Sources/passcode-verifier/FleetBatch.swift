internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// One command for each user of a list, as passcode(1) and passcode-json(5) have it: the same lines, results, JSON and
/// exit statuses. A user needs no account on this server.
///
/// One line is done after the other, since all of them wait for the same etcd: one hash at a time leaves the other slots
/// to logins. Ctrl-C and the like end it between two lines.                             test_verifier_commands.py
struct FleetBatch: ~Copyable {
  private let administration: Administration
  private var lines: BatchLines
  /// nil: no secrets are made up.
  private let output: BatchOutput?
  private var report: BatchReport
  private var seen: [Bytes] = []
  private var order: Order { administration.order }

  /// - Parameter path: "-": standard input.
  static func run(_ administration: Administration, _ path: Bytes) throws(Failure) -> ExitStatus {
    let order = administration.order
    // A length that isn't allowed fails each line.
    _ = try administration.choice([])
    let hasPasscodes = order.command == .enroll && !order.has(.generate)
    let lines = try BatchLines.open(path, hasPasscodes ? .userAndPasscode : .user, administration.sodium)
    let output = order.tellsSecrets ? try BatchOutput(order.output, orTerminal: order.has(.show)) : nil
    var batch = FleetBatch(administration, lines, output)
    var secrets = try administration.newSecrets()
    return try batch.run(&secrets)
  }

  private init(_ administration: Administration, _ lines: consuming BatchLines, _ output: BatchOutput?) {
    self.administration = administration
    self.output = output
    let order = administration.order
    let manner = BatchManner(
      order.command.act ?? .enrolled, wantsJSON: order.has(.json), isQuiet: order.has(.quiet),
      skipsEnrolled: order.has(.skipEnrolled), tellsSecrets: order.tellsSecrets && order.output.isEmpty)
    report = BatchReport(manner, size: lines.size) { complain($0) }
    self.lines = lines
  }

  private mutating func run(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    Stops.hold()
    do throws(Failure) {
      try work(&secrets)
    } catch {
      _ = try? report.finish(stoppedAt: lines.number)
      throw error
    }
    return try report.finish(stoppedAt: lines.isAtEnd ? nil : lines.number)
  }

  private mutating func work(_ secrets: inout Secrets) throws(Failure) {
    while !Stops.isRequested {
      switch lines.next() {
      case .end: return
      case .notYet: try lines.fill()
      case .nothing: break
      case .bad(let problem): try tell([], .badLine, problem.text.text)
      case .user(let name) where seen.contains(name): try tell(name, .repeated)
      case .user(let name):
        seen.append(name)
        try handle(name, &secrets)
        try report.progress(lines.position)
      }
    }
  }

  @inline(never)
  private mutating func tell(_ name: Bytes, _ outcome: BatchOutcome, _ reason: Text = "") throws(Failure) {
    try report.tell(BatchResult(lines.number, name, outcome, reason))
  }

  private mutating func handle(_ name: Bytes, _ secrets: inout Secrets) throws(Failure) {
    let outcome: BatchOutcome
    do throws(Obstacle) {
      defer {
        secrets.passcode.wipe()
        secrets.change.new.passcode.wipe()
      }
      outcome = try perform(name, &secrets)
    } catch {
      switch error {
      case .line(let outcome, let reason): return try tell(name, outcome, reason)
      case .batch(let failure):
        try tell(name, .failed, failure.text.text)
        throw failure
      }
    }
    try tell(name, outcome)
  }

  // MARK: A line

  /// An error that keeps a line from being done, or the whole list.
  private enum Obstacle: Error {
    case line(BatchOutcome, Text)
    /// The next line would meet the same.
    case batch(Failure)

    init(_ fault: Fault) {
      switch fault.reason {
      case .noEtcd, .fleetRestored, .fleetEpoch, .failed: self = .batch(.fault(fault))
      default: self = .line(.failed, fault.advice.phrase.text)
      }
    }
  }

  private func asking<Value>(_ body: () throws(Fault) -> Value) throws(Obstacle) -> Value {
    do throws(Fault) { return try body() } catch { throw Obstacle(error) }
  }

  private func perform(_ name: Bytes, _ secrets: inout Secrets) throws(Obstacle) -> BatchOutcome {
    switch order.command {
    case .enroll: return try enroll(name, &secrets)
    case .invite where order.has(.withdraw):
      switch try asking({ () throws(Fault) in try administration.withdraw(name) }) {
      case .done: return .done
      case .noCode: return .unchanged
      case .used: throw Obstacle(Fault(.changedMeanwhile))
      }
    case .invite:
      administration.makeUpCode(&secrets.passcode)
      try write(name, secrets.passcode, &secrets.line)
      do throws(Fault) { try administration.keep(name, secrets.passcode, &secrets.unsealed) } catch {
        throw Obstacle(error)
      }
      return .done
    case .remove, .unlock, .disable, .enable:
      let changed = try asking { () throws(Fault) in try administration.change(name) }
      return changed.map { $0 ? .done : .unchanged } ?? .notEnrolled
    case .initialize, .restored, .seen, .check, .metrics, .list, .status: return .unchanged
    }
  }

  private func enroll(_ name: Bytes, _ secrets: inout Secrets) throws(Obstacle) -> BatchOutcome {
    if order.has(.skipEnrolled),
      try asking({ () throws(Fault) in try administration.fleet.status(name).isEnrolled })
    {
      return .skipped
    }
    if order.has(.generate) {
      do throws(Failure) {
        try administration.choice(name).choose(&secrets.line, &secrets.change, generates: true)
      } catch {
        if let fault = error.fault { throw Obstacle(fault) }
        throw .line(.failed, error.text.text)
      }
      try write(name, secrets.change.new.passcode, &secrets.line)
    } else {
      lines.copyPasscode(&secrets.line, &secrets.change.new.passcode)
    }
    do throws(EnrolmentError) {
      try administration.set(name, secrets.change, &secrets.unsealed)
    } catch {
      switch error {
      case .refused(.length): throw .line(.wrongLength, "")
      case .refused(.weak(let weakness)): throw .line(.weak, Phrase(weakness.sentence).text)
      case .fault(let fault): throw Obstacle(fault)
      }
    }
    return .done
  }

  /// Returns when it is on the device, or in the pipe: there is never a passcode or code that nobody was told.
  @inline(never)
  private func write(
    _ name: Bytes, _ secret: borrowing Passcode, _ line: inout TypedLine
  ) throws(Obstacle) {
    do throws(Failure) { try output?.write(name, secret, &line) } catch { throw .batch(error) }
  }
}
