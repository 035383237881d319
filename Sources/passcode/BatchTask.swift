internal import PasscodePolicy
internal import PasscodePrograms

/// A line that a worker is doing.
struct BatchTask {
  let line: UInt64
  let name: Bytes
  let worker: Worker

  enum End {
    case result(BatchResult, stuckSlots: Bytes)
    case stopped, died
  }

  /// Waits until the worker has ended.
  func finish() -> End {
    switch worker.finish() {
    case .stopped: return .stopped
    case .died: return .died
    case .result(let message):
      guard let outcome = message.first.flatMap(BatchOutcome.init(rawValue:)), message.count >= 2 else {
        return .died
      }
      let (slots, reason) = (message[2...].prefix(Int(message[1])), message[2...].dropFirst(Int(message[1])))
      return .result(BatchResult(line, name, outcome, Text(Bytes(reason))), stuckSlots: Bytes(slots))
    }
  }
}
