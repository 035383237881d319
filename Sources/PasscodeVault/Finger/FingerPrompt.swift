public import PasscodePolicy
internal import PasscodeSystem

/// The fingerprint reader beside one prompt: `passcode-finger`, started and heard.
///
/// - The program MUST be the installed one: a regular file of root's, which nobody else can write, without setuid or
///   setgid; whatever else stands there isn't started.                             test_finger_prompt.py
/// - The prompt MUST wait for it at most 300 ms, and not at all while the bus starts fprintd.
///                                                                                 test_finger_figures.py
/// - What isn't a valid transcript MUST be no match.                               test_finger_prompt.py
/// - When this goes, the program is stopped and has freed the reader, or 1 s is over.   test_finger_prompt.py
public struct FingerPrompt: ~Copyable {
  /// Milliseconds.
  private static let readyWithin: UInt64 = 300
  /// One byte more than a valid transcript has.
  private static let most = FingerTranscript.mostEvents * FingerEvent.length + 1

  private let program: HelperProcess
  private var heard = Bytes()
  public private(set) var transcript = FingerTranscript()
  /// The prompt may say so: a touch may match.
  public private(set) var isOffered = false

  /// Starts the program, and waits until the reader waits for a touch, or is known not to.
  ///
  /// nil: there is no such program to start.
  public init?(_ request: FingerRequest) {
    guard (try? FingerProgram.isSound()) == true, let started = try? HelperProcess(Installed.finger) else {
      return nil
    }
    program = started
    program.send(request.bytes)
    let begin = SystemClock.bootMilliseconds() ?? 0
    while case .silent = transcript.state {
      let waited = (SystemClock.bootMilliseconds() ?? .max) - begin
      guard waited < FingerPrompt.readyWithin else { break }
      hear(within: Int32(FingerPrompt.readyWithin - waited))
    }
    switch transcript.state {
    case .starting, .watching, .matched: isOffered = true
    case .silent, .ended: program.stop()
    }
  }

  /// Stops the reader. What had arrived by then is the transcript.
  public mutating func stop() {
    guard isOffered else { return }
    while hear(within: 0) {}
    program.stop()
  }

  /// - Returns: whether there may be more.
  @discardableResult
  private mutating func hear(within milliseconds: Int32) -> Bool {
    guard let bytes = program.receive(limit: FingerPrompt.most - heard.count, within: milliseconds) else {
      return false
    }
    heard += bytes
    guard let transcript = FingerTranscript(heard) else {
      self.transcript = FingerTranscript(ended: .failed)
      return false
    }
    self.transcript = transcript
    if bytes.isEmpty { self.transcript.lose() }
    return !bytes.isEmpty
  }
}
