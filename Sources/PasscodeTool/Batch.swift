public import PasscodePolicy
public import PasscodePrograms
public import PasscodeSystem

/// One command for each user of a list: reads the lines, and reports their results and the progress. What is done for a
/// user is the program's (`begin`); workers may do it while the next lines are begun.
///
/// - A bad line MUST be named by its number and the reason, and MUST NOT stop the run. Its content MUST NOT be shown: it
///   may be a passcode.                                                        BatchLineTests, test_batch.py
/// - Ctrl-C, SIGTERM, SIGHUP and SIGQUIT (unless they are ignored) and every error of the batch itself MUST end it, but
///   only after all lines that were begun are finished. These are all lines up to a certain one, whose number MUST be
///   shown.
///                                                                 test_batch.py, test_verifier_commands.py
open class Batch {
  /// The list: it has the passcode of its last line.
  public final var lines: BatchLines
  /// Where a batch that makes secrets up writes them; nil: this one makes none up.
  private let output: BatchOutput?
  /// The only secrets in this process besides the list: those of the line that is being begun.
  public final var secrets: Secrets
  private var report: BatchReport
  /// The number of the current line or account, from 1.
  public private(set) final var number: UInt64 = 0
  /// The number of the last line that was begun, or needed nothing.
  private var reached: UInt64 = 0
  private var isAtEnd = false

  /// - Parameter output: nil: no secrets are made up.
  public init(
    _ lines: consuming BatchLines, _ output: BatchOutput?, _ sodium: Sodium, _ report: BatchReport
  ) throws(Failure) {
    guard let secrets = Secrets(sodium) else { throw .fault(Fault(.noMemory)) }
    self.lines = lines
    self.output = output
    self.secrets = secrets
    self.report = report
  }

  /// Does what is to be done for a user and tells the result (`settle`), or passes over the line, which a worker may have
  /// (`skip`). Otherwise the line isn't begun.
  ///
  /// - Throws: what ends the batch.
  open func begin(_ name: Bytes) throws(Failure) {}

  /// Reads the next line of the list; a batch for everybody goes through the accounts instead.
  open func next() -> BatchLines.Next { lines.next() }

  /// How far it has got: bytes of the list, or accounts.
  open var position: Int { lines.position }

  /// The copies of this process that do lines at the moment; a batch that does each line itself has none.
  open var workers: [Worker] { [] }

  /// With so many workers no further line is begun until one of them has ended.
  open var mostWorkers: Int { 1 }

  /// Reports the results of workers that have ended.
  ///
  /// - Parameter ended: indices, in ascending order.
  open func finish(_ ended: [Int]) throws(Failure) {}

  /// Goes through the list, until its end or a signal to stop.
  ///
  /// - Returns: the command's exit status.
  public final func run() throws(Failure) -> ExitStatus {
    Stops.hold()
    do throws(Failure) {
      try work()
      while !workers.isEmpty { try wait() }
    } catch {
      while !workers.isEmpty { try? wait() }
      _ = try? report.finish(stoppedAt: reached)
      throw error
    }
    return try report.finish(stoppedAt: isAtEnd ? nil : reached)
  }

  private func work() throws(Failure) {
    while !Stops.isRequested {
      guard workers.count < mostWorkers else {
        try wait()
        continue
      }
      let next = next()
      number += next.isLine ? 1 : 0
      switch next {
      case .notYet: try wait(orInput: true)
      case .end:
        isAtEnd = true
        return
      case .nothing: skip()
      case .bad(let problem): try settle([], .badLine, problem.text.text)
      case .user(let name): try begin(name)
      }
      try report.progress(position)
    }
  }

  /// Nothing of the current line is to be told now.
  public final func skip() { reached = number }

  /// Reports the result of the current line.
  @inline(never)
  public final func settle(_ name: Bytes, _ outcome: BatchOutcome, _ reason: Text = "") throws(Failure) {
    reached = number
    try tell(BatchResult(number, name, outcome, reason))
  }

  /// Reports the result of a line that was begun earlier.
  public final func tell(_ result: BatchResult) throws(Failure) { try report.tell(result) }

  /// Prints a remark, unless `--quiet` is set.
  public final func note(_ text: Phrase) { report.note(text) }

  /// Writes a secret that was made up for the current line, and returns when it is on the device, or in the pipe: before it
  /// is set.
  public final func write(_ name: Bytes, _ secret: borrowing Passcode, _ line: inout TypedLine)
    throws(Failure)
  {
    try output?.write(name, secret, &line)
  }

  /// The result of a line whose passcode may not be chosen.
  public static func result(_ refusal: Choice.Refusal) -> (BatchOutcome, Text) {
    switch refusal {
    case .length: (.wrongLength, "")
    case .weak(let weakness): (.weak, Phrase(weakness.sentence).text)
    }
  }

  /// Wipes and closes what a worker, a copy of this process, must not have.
  public final func leaveToParent() {
    lines.wipe()
    output?.closeInCopy()
  }

  /// Reports what workers have done; waits a moment for that, or also for more of the list.
  @inline(never)
  public final func wait(orInput: Bool = false, milliseconds: Int32 = 200) throws(Failure) {
    let (ended, hasInput) = lines.wait(for: workers, orInput: orInput, milliseconds)
    try finish(ended)
    if hasInput { try lines.fill() }
    try report.progress(position)
  }
}
