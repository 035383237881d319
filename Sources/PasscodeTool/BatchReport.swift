public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// What a batch is told to do, as far as that changes what it says.
public struct BatchManner {
  let act: Act
  let wantsJSON: Bool
  let isQuiet: Bool
  let skipsEnrolled: Bool
  /// false: it is for everybody, and no list has lines.
  let isOfList: Bool
  /// Standard output gets the passcodes, and nothing else.
  let tellsSecrets: Bool

  public init(
    _ act: Act, wantsJSON: Bool, isQuiet: Bool, skipsEnrolled: Bool, tellsSecrets: Bool, isOfList: Bool = true
  ) {
    self.act = act
    self.wantsJSON = wantsJSON
    self.isQuiet = isQuiet
    self.skipsEnrolled = skipsEnrolled
    self.isOfList = isOfList
    self.tellsSecrets = tellsSecrets
  }
}

/// Reports the result of each line, the progress, and at the end the counts.
public struct BatchReport {
  private let manner: BatchManner
  private let size: Int?
  private let complain: (Phrase) -> Void
  private let started = SystemClock.bootMilliseconds() ?? 0
  private var lastProgress: UInt64 = 0
  /// A bar is on the terminal.
  private var isDrawn = false
  private var counts = BatchCounts()

  /// - Parameters:
  ///   - size: bytes of the list, if that is known.
  ///   - complain: prints a line on standard error, after the program's name.
  public init(_ manner: BatchManner, size: Int?, complain: @escaping (Phrase) -> Void) {
    self.manner = manner
    self.size = size
    self.complain = complain
    lastProgress = started
  }

  public mutating func tell(_ result: BatchResult) throws(Failure) {
    // For everybody: a removed passcode leaves a record.
    if !manner.isOfList, result.outcome == .notEnrolled { return }
    counts.add(result.outcome)
    if manner.wantsJSON {
      guard !manner.isQuiet || result.outcome.isFailure else { return }
      return try write(result.json)
    }
    if result.outcome.isFailure {
      erase()
      complain(result.text(manner.act, isOfList: manner.isOfList))
    } else if !manner.isQuiet {
      guard !manner.tellsSecrets else { return }
      try write("\(result.text(manner.act, isOfList: manner.isOfList))\n")
    }
  }

  /// Prints a remark while the batch runs, unless `--quiet` is set.
  public mutating func note(_ text: Phrase) {
    guard !manner.isQuiet else { return }
    erase()
    complain(text)
  }

  private mutating func write(_ text: Text) throws(Failure) {
    erase()
    guard Stream.output.write(text.bytes) else { throw .unwritable }
  }

  // MARK: Progress

  /// On a terminal a bar, five times a second at most; else a line every 10 s.
  ///
  /// - Parameter position: bytes of the list so far.
  public mutating func progress(_ position: Int) throws(Failure) {
    guard !manner.isQuiet, let now = SystemClock.bootMilliseconds() else { return }
    let isTerminal = Stream.error.isTerminal
    guard now - lastProgress >= (isTerminal ? 200 : 10_000) else { return }
    lastProgress = now
    let progress = BatchProgress(counts, position, of: size, milliseconds: now - started)
    if isTerminal {
      Stream.error.write(Text("\r\(progress.bar)\u{1b}[K").bytes)
      isDrawn = true
    } else {
      complain(progress.text)
    }
  }

  private mutating func erase() {
    if isDrawn { Stream.error.write(Text("\r\u{1b}[K").bytes) }
    isDrawn = false
  }

  // MARK: The end

  /// - Parameter stoppedAt: the last line that was handled, if it ends early.
  /// - Returns: the command's exit status.
  public mutating func finish(stoppedAt: UInt64?) throws(Failure) -> ExitStatus {
    erase()
    if manner.wantsJSON { try write(counts.json(stoppedAt)) }
    if !manner.isQuiet || counts.failed > 0 { complain(counts.text) }
    if let stoppedAt {
      complain(
        BatchCounts.stopped(stoppedAt, isRepeatable: manner.skipsEnrolled, isOfList: manner.isOfList))
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
