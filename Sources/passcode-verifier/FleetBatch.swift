internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

/// One command for each user of a list, as passcode(1) and passcode-json(5) have it: the same lines, results, JSON and
/// exit statuses. A user needs no account on this server.
///
/// One line is done after the other, since all of them wait for the same etcd: one hash at a time leaves the other slots
/// to logins. Ctrl-C and the like end it between two lines.                             test_verifier_commands.py
final class FleetBatch: Batch {
  private let administration: Administration
  private var seen: [Bytes] = []
  private var order: Order { administration.order }

  /// - Parameter path: "-": standard input.
  init(_ administration: Administration, _ path: Bytes) throws(Failure) {
    let order = administration.order
    // A length that isn't allowed fails each line.
    _ = try administration.choice([])
    self.administration = administration
    let hasPasscodes = order.command == .enroll && !order.has(.generate)
    let lines = try BatchLines.open(path, hasPasscodes ? .userAndPasscode : .user, administration.sodium)
    let output = order.tellsSecrets ? try BatchOutput(order.output, orTerminal: order.has(.show)) : nil
    let manner = BatchManner(
      order.command.act ?? .enrolled, wantsJSON: order.has(.json), isQuiet: order.has(.quiet),
      skipsEnrolled: order.has(.skipEnrolled), tellsSecrets: order.tellsSecrets && order.output.isEmpty)
    let report = BatchReport(manner, size: lines.size) { complain($0) }
    try super.init(lines, output, administration.sodium, report)
  }

  override func begin(_ name: Bytes) throws(Failure) {
    guard !seen.contains(name) else { return try settle(name, .repeated) }
    seen.append(name)
    let (outcome, reason): (BatchOutcome, Text)
    do throws(Failure) { (outcome, reason) = try perform(name, &secrets) } catch {
      try settle(name, .failed, error.text.text)
      if isForAll(error) { throw error }
      return
    }
    try settle(name, outcome, reason)
  }

  /// Whether the next line would meet the same.
  private func isForAll(_ error: Failure) -> Bool {
    switch error.fault?.reason {
    case .noEtcd, .fleetRestored, .fleetEpoch, .failed, nil: true
    default: false
    }
  }

  private func perform(_ name: Bytes, _ secrets: inout Secrets) throws(Failure) -> (BatchOutcome, Text) {
    defer {
      secrets.passcode.wipe()
      secrets.change.new.passcode.wipe()
    }
    switch order.command {
    case .enroll: return try enroll(name, &secrets)
    case .invite where order.has(.withdraw):
      switch try reporting({ () throws(Fault) in try administration.withdraw(name) }) {
      case .done: return (.done, "")
      case .noCode: return (.unchanged, "")
      case .used: throw .fault(Fault(.changedMeanwhile))
      }
    case .invite:
      administration.makeUpCode(&secrets.passcode)
      try write(name, secrets.passcode, &secrets.line)
      do throws(Fault) { try administration.keep(name, secrets.passcode, &secrets.unsealed) } catch {
        throw .fault(error)
      }
      return (.done, "")
    case .remove, .unlock, .disable, .enable:
      let changed = try reporting { () throws(Fault) in try administration.change(name) }
      return (changed.map { $0 ? .done : .unchanged } ?? .notEnrolled, "")
    case .initialize, .restored, .seen, .check, .metrics, .list, .status: return (.unchanged, "")
    }
  }

  private func enroll(_ name: Bytes, _ secrets: inout Secrets) throws(Failure) -> (BatchOutcome, Text) {
    if order.has(.skipEnrolled),
      try reporting({ () throws(Fault) in try administration.fleet.status(name).isEnrolled })
    {
      return (.skipped, "")
    }
    if order.has(.generate) {
      try administration.choice(name).choose(&secrets.line, &secrets.change, generates: true)
      try write(name, secrets.change.new.passcode, &secrets.line)
    } else {
      lines.copyPasscode(&secrets.line, &secrets.change.new.passcode)
    }
    do throws(EnrolmentError) {
      try administration.set(name, secrets.change, &secrets.unsealed)
      return (.done, "")
    } catch {
      switch error {
      case .refused(let refusal): return Batch.result(refusal)
      case .fault(let fault): throw .fault(fault)
      }
    }
  }
}
