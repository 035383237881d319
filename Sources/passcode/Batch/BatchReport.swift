internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

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

/// Reports the result of each line, the progress, and at the end the counts.
struct BatchReport {
  private let session: Session
  private let act: Act
  private let size: Int?
  private let started = SystemClock.bootMilliseconds() ?? 0
  private var lastProgress: UInt64 = 0
  /// A bar is on the terminal.
  private var isDrawn = false
  private(set) var counts = BatchCounts()

  /// - Parameter size: bytes of the list, if that is known.
  init(_ session: Session, _ act: Act, size: Int?) {
    self.session = session
    self.act = act
    self.size = size
    lastProgress = started
  }

  mutating func tell(_ result: BatchResult) throws(Failure) {
    counts.add(result.outcome)
    if session.wantsJSON {
      guard !session.isQuiet || result.outcome.isFailure else { return }
      return try write(result.json)
    }
    if result.outcome.isFailure {
      erase()
      complain(result.text(act))
    } else if !session.isQuiet {
      // Standard output gets the passcodes, and nothing else.
      guard !session.generates || session.outputPath != nil else { return }
      try write("\(result.text(act))\n")
    }
  }

  /// Prints a remark while the batch runs, unless `--quiet` is set.
  mutating func note(_ text: Phrase) {
    guard !session.isQuiet else { return }
    erase()
    complain(text)
  }

  private mutating func write(_ text: Text) throws(Failure) {
    erase()
    guard Stream.output.write(text) else { throw .unwritable }
  }

  // MARK: Progress

  /// On a terminal a bar, five times a second at most; else a line every 10 s.
  mutating func progress(_ position: Int) throws(Failure) {
    guard !session.isQuiet, let now = SystemClock.bootMilliseconds() else { return }
    let isTerminal = Stream.error.isTerminal
    guard now - lastProgress >= (isTerminal ? 200 : 10_000) else { return }
    lastProgress = now
    let progress = BatchProgress(counts, position, of: size, milliseconds: now - started)
    if isTerminal {
      Stream.error.write("\r\(progress.bar)\u{1b}[K")
      isDrawn = true
    } else {
      complain(progress.text)
    }
  }

  private mutating func erase() {
    if isDrawn { Stream.error.write("\r\u{1b}[K") }
    isDrawn = false
  }

  // MARK: The end

  /// - Parameter stoppedAt: the last line that was handled, if it ends early.
  mutating func finish(stoppedAt: UInt64?) throws(Failure) -> ExitStatus {
    erase()
    if session.wantsJSON { try write(counts.json(stoppedAt)) }
    if !session.isQuiet || counts.failed > 0 { complain(counts.text) }
    if let stoppedAt {
      complain(BatchCounts.stopped(stoppedAt, session.skipsEnrolled))
      return .cancelled
    }
    return counts.failed > 0 ? .someFailed : .done
  }
}

/// How far a batch has got.
struct BatchProgress {
  let counts: BatchCounts
  /// nil: the size of the list isn't known.
  let percent: UInt64?
  /// Users per minute.
  let rate: UInt64
  let secondsLeft: UInt64?

  init(_ counts: BatchCounts, _ position: Int, of size: Int?, milliseconds: UInt64) {
    self.counts = counts
    rate = counts.all * 60_000 / max(1, milliseconds)
    guard let size, size > 0, position > 0 else {
      percent = nil
      secondsLeft = nil
      return
    }
    percent = UInt64(min(100, position * 100 / size))
    secondsLeft = milliseconds / 1_000 * UInt64(max(0, size - position)) / UInt64(position)
  }
}
