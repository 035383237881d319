internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
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
  private let form: BatchLine.Form
  private var lines: GuardedLines
  private let output: GuardedOutput?
  private var counts = BatchCounts()
  private var number: UInt64 = 0
  private var seen: [Bytes] = []
  private var order: Order { administration.order }

  /// - Parameter path: "-": standard input.
  static func run(_ administration: Administration, _ path: Bytes) throws(Failure) -> ExitStatus {
    let order = administration.order
    try administration.checkLength()
    let form =
      order.command == .enroll && !order.has(.generate) ? BatchLine.Form.userAndPasscode : .user
    let lines: GuardedLines?
    do throws(Errno) {
      lines = try GuardedLines.open(path.spells("-") ? nil : path, administration.sodium)
    } catch {
      throw .list(path, error)
    }
    guard let lines = consume lines else { throw .fault(Fault(.noMemory)) }
    if form == .userAndPasscode, lines.isTerminal { throw .typed }
    var batch = FleetBatch(administration, form, lines, try open(order))
    var secrets = try administration.newSecrets()
    return try batch.run(&secrets)
  }

  private init(
    _ administration: Administration, _ form: BatchLine.Form, _ lines: consuming GuardedLines,
    _ output: GuardedOutput?
  ) {
    self.administration = administration
    self.form = form
    self.lines = lines
    self.output = output
  }

  /// Opens the file or pipe for generated secrets; nil where none are generated.
  private static func open(_ order: Order) throws(Failure) -> GuardedOutput? {
    guard order.tellsSecrets else { return nil }
    let path = order.output
    do throws(Errno) {
      return path.isEmpty ? try .standard(orTerminal: order.has(.show)) : try .file(path)
    } catch {
      switch error {
      case .denied: throw path.isEmpty ? .shown : .openOutput(path)
      case .wouldBlock: throw .inUse(path)
      default: throw .output(path, error)
      }
    }
  }

  private mutating func run(_ secrets: inout Secrets) throws(Failure) -> ExitStatus {
    Stops.hold()
    var isAll = false
    do throws(Failure) {
      isAll = try work(&secrets)
    } catch {
      try? finish(isAll: false)
      throw error
    }
    try finish(isAll: isAll)
    return isAll ? (counts.failed > 0 ? .someFailed : .done) : .cancelled
  }

  /// - Returns: whether it came to the end of the list.
  private mutating func work(_ secrets: inout Secrets) throws(Failure) -> Bool {
    while !Stops.isRequested {
      switch lines.next() {
      case .end: return true
      case .notYet: do throws(Errno) { try lines.fill() } catch { throw .list(order.list ?? [], error) }
      case .tooLong:
        number += 1
        try tell(BatchResult(number, [], .badLine, BatchLine.Problem.tooLong.text.text))
      case .line:
        number += 1
        try handle(&secrets)
      }
    }
    return false
  }

  private mutating func handle(_ secrets: inout Secrets) throws(Failure) {
    defer {
      secrets.line.wipe()
      secrets.passcode.wipe()
      secrets.change.new.passcode.wipe()
    }
    let form = form
    switch lines.read({ BatchLine($0, form) }) {
    case .nothing: return
    case .bad(let problem): try tell(BatchResult(number, [], .badLine, problem.text.text))
    case .user(let name):
      guard !seen.contains(name) else { return try tell(BatchResult(number, name, .repeated)) }
      seen.append(name)
      if form == .userAndPasscode {
        lines.copy(from: name.count + 1, to: &secrets.line)
        _ = secrets.change.new.passcode.take(secrets.line)
        secrets.line.wipe()
      }
      try handle(name, &secrets)
    }
  }

  private mutating func handle(_ name: Bytes, _ secrets: inout Secrets) throws(Failure) {
    let outcome: BatchOutcome
    var reason: Text = ""
    do throws(EnrolmentError) {
      outcome = try perform(name, &secrets)
    } catch {
      switch error {
      case .refused(.length): outcome = .wrongLength
      case .refused(.weak(let weakness)): (outcome, reason) = (.weak, Phrase(weakness.sentence).text)
      case .fault(let fault):
        try tell(BatchResult(number, name, .failed, fault.advice.phrase.text))
        if fault.isEverybodys { throw .fault(fault) }
        return
      }
    }
    try tell(BatchResult(number, name, outcome, reason))
  }

  private func perform(_ name: Bytes, _ secrets: inout Secrets) throws(EnrolmentError) -> BatchOutcome {
    do throws(Fault) {
      switch order.command {
      case .enroll:
        if order.has(.skipEnrolled), try administration.fleet.status(name).isEnrolled { return .skipped }
      case .invite:
        if order.has(.withdraw) {
          switch try administration.withdraw(name) {
          case .done: return .done
          case .noCode: return .unchanged
          case .used: throw Fault(.changedMeanwhile)
          }
        }
        administration.makeUpCode(&secrets.passcode)
        try write(name, secrets.passcode, &secrets.line)
        try administration.keep(name, secrets.passcode, &secrets.unsealed)
        return .done
      case .remove, .unlock, .disable, .enable:
        guard let changed = try administration.change(name) else { return .notEnrolled }
        return changed ? .done : .unchanged
      case .initialize, .restored, .seen, .check, .list, .status: return .unchanged
      }
    } catch {
      throw .fault(error)
    }
    return try enroll(name, &secrets)
  }

  private func enroll(_ name: Bytes, _ secrets: inout Secrets) throws(EnrolmentError) -> BatchOutcome {
    if order.has(.generate) {
      do throws(Failure) {
        try administration.makeUp(name, &secrets.change)
      } catch {
        // What else it meets is that a list of weak codes leaves none.
        if case .fault(let fault) = error { throw .fault(fault) }
        throw .refused(.length)
      }
      do throws(Fault) {
        try write(name, secrets.change.new.passcode, &secrets.line)
      } catch {
        throw .fault(error)
      }
    }
    try administration.set(name, secrets.change, &secrets.unsealed)
    return .done
  }

  /// Returns when it is on the device, or in the pipe: there is never a passcode or code that nobody was told.
  private func write(
    _ name: Bytes, _ secret: borrowing Passcode, _ line: inout TypedLine
  ) throws(Fault) {
    defer { line.wipe() }
    line.fill(name, secret)
    do throws(Errno) {
      try output?.write(line)
    } catch {
      let path = order.output.isEmpty ? Bytes(text: "standard output") : order.output
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  // MARK: What came of it

  private mutating func tell(_ result: BatchResult) throws(Failure) {
    counts.add(result.outcome)
    if order.has(.json) {
      guard !order.has(.quiet) || result.outcome.isFailure else { return }
      guard Stream.output.write(result.json.bytes) else { throw .unwritable }
    } else if result.outcome.isFailure {
      complain(line(result))
    } else if !order.has(.quiet), output == nil || !order.output.isEmpty {
      // Standard output gets the passcodes, and nothing else.
      guard Stream.output.write(Text("\(line(result))\n").bytes) else {
        throw .unwritable
      }
    }
  }

  private func line(_ result: BatchResult) -> Phrase { result.text(order.command.act ?? .enrolled) }

  private func finish(isAll: Bool) throws(Failure) {
    let stoppedAt = isAll ? nil : number
    if order.has(.json) {
      guard Stream.output.write(counts.json(stoppedAt).bytes) else { throw .unwritable }
    }
    if !order.has(.quiet) || counts.failed > 0 { complain(counts.text) }
    if let stoppedAt { complain(BatchCounts.stopped(stoppedAt, order.has(.skipEnrolled))) }
  }
}

extension Fault {
  /// The next line would meet the same.
  fileprivate var isEverybodys: Bool {
    reason == .noEtcd || reason == .fleetRestored || reason == .fleetEpoch || reason == .failed
  }
}
