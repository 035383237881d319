internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A line of a list that somebody works on.
struct BatchTask {
  let line: UInt64
  let name: Bytes

  func result(_ outcome: BatchOutcome, _ reason: Text = "") -> BatchResult {
    BatchResult(line, name, outcome, reason)
  }

  /// nil: no result.
  func result(_ message: Bytes) -> BatchResult? {
    guard let byte = message.first, let outcome = BatchOutcome(rawValue: byte) else { return nil }
    return result(outcome, Text(Bytes(message.dropFirst())))
  }
}

/// A worker as its parent sees it.
final class BatchWorker {
  let worker: Worker
  /// The passcode of its task, which may have to be given to another one.
  var secrets: Secrets
  private(set) var task: BatchTask?
  /// The one before it died by this task.
  private(set) var isSecond = false
  private var message = Bytes()

  init(_ worker: Worker, _ secrets: consuming Secrets) {
    self.worker = worker
    self.secrets = secrets
  }

  func give(_ task: BatchTask, _ account: Account) {
    self.task = task
    message = littleEndian(UInt64(account.uid), 4) + littleEndian(UInt64(account.gid), 4) + account.name
    send()
  }

  private func send() {
    worker.send(message)
    if secrets.change.new.passcode.count > 0 { worker.send(secrets.change.new.passcode) }
  }

  func inherit(_ dead: BatchWorker) {
    task = dead.task
    message = dead.message
    secrets.change.new.passcode.copy(dead.secrets.change.new.passcode)
    isSecond = true
    send()
  }

  func finish() {
    secrets.change.new.passcode.wipe()
    task = nil
    isSecond = false
  }
}

// MARK: - In the worker

extension Batch {
  /// Does one task after the other, until the parent is gone.
  func serve(_ parent: Worker) {
    // A record is finished whatever happens.
    let undisturbed = SignalsBlocked()
    defer { _ = undisturbed }
    guard var secrets = try? newSecrets() else { return }
    while let message = parent.receive(), message.count > 8 {
      let account = Account(
        uid: UInt32(littleEndianNumber(message, 0, 4)), gid: UInt32(littleEndianNumber(message, 4, 4)),
        name: Bytes(message.dropFirst(8)))
      if act == .enrolled {
        parent.receive(&secrets.line)
        guard secrets.change.new.passcode.take(secrets.line) == .passcode else { return }
        secrets.line.wipe()
      }
      let (outcome, reason) = perform(account, secrets.change, &secrets.unsealed)
      secrets.change.new.passcode.wipe()
      parent.send([outcome.rawValue] + reason.bytes)
    }
  }

  private func perform(
    _ account: Account, _ passcode: borrowing PasscodeChange, _ unsealed: inout Unsealed
  ) -> (BatchOutcome, Text) {
    let done = { [self] in session.note(act, account) }
    do throws(EnrolmentError) {
      guard act != .enrolled else {
        try vault.enroll(account, passcode, &unsealed, by: .direct, then: done)
        return (.done, "")
      }
      do throws(Fault) { return (try change(account, done), "") } catch { throw .fault(error) }
    } catch {
      switch error {
      case .refused(.length): return (.wrongLength, "")
      case .refused(.weak(let weakness)): return (.weak, weakness.text)
      case .fault(let fault): return (.failed, fault.text)
      }
    }
  }

  private func change(_ account: Account, _ done: @escaping () -> Void) throws(Fault) -> BatchOutcome {
    let changed: Bool?
    switch act {
    case .enrolled, .changed, .renamed, .removed:
      changed = try vault.remove(account, by: .direct, then: done) ? true : nil
    case .unlocked: changed = try vault.unlock(account, by: .direct, then: done)
    case .disabled: changed = try vault.disable(account, true, then: done)
    case .enabled: changed = try vault.disable(account, false, then: done)
    }
    guard let changed else { return .notEnrolled }
    return changed ? .done : .unchanged
  }
}
