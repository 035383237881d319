public import PasscodePolicy
internal import PasscodeSystem

/// The fingerprint reader beside one prompt: a process of `passcode-finger`, asked and heard by root's socket.
///
/// - It MUST be systemd that starts the process, in a unit of its own: a child would stay in the cgroup of the person who
///   runs the program, who may freeze and kill what is there.                       test_finger_socket.py
/// - The prompt MUST wait for it at most 300 ms, and not at all while the bus starts fprintd; a slow reader joins later.
///                                                                                 test_finger_figures.py
/// - Enter MUST wait for it only where a finger is on the reader, and at most 1 s.   test_finger_prompt.py
/// - What isn't a valid transcript MUST be no match; nor what is older than this prompt, or later than its first 30 s in
///   a program that a person runs.                                                  test_finger_prompt.py
/// - When this goes, the reader is free, or 1 s is over.                             test_finger_prompt.py
public struct FingerPrompt: ~Copyable {
  /// Milliseconds.
  private static let readyWithin: UInt64 = 300
  /// Milliseconds for the reader to decide about the finger that is on it at Enter.
  private static let decidedWithin: UInt64 = 1_100
  /// Milliseconds for the reader to be freed.
  private static let freeWithin: UInt64 = 1_000
  /// One byte more than a valid transcript has.
  private static let most = FingerTranscript.mostEvents * FingerEvent.length + 1
  /// passcode-finger.socket has it, too.
  private static var socket: StaticString { "/run/passcode-finger.socket" }

  private let service: RootService
  private let request: FingerRequest
  /// CLOCK_BOOTTIME in milliseconds.
  private let begin: UInt64
  private var heard = Bytes()
  public private(set) var transcript = FingerTranscript()
  /// The prompt may say so: a touch may match.
  public private(set) var isOffered = false

  /// Asks for the reader, and waits until it waits for a touch, is known not to, or is known to join later.
  ///
  /// nil: there is nothing to ask.
  public static func begin(_ request: FingerRequest) -> FingerPrompt? {
    guard let begin = SystemClock.bootMilliseconds(), let service = try? RootService(socket) else {
      return nil
    }
    var prompt = FingerPrompt(service: service, request: request, begin: begin)
    prompt.start()
    return prompt
  }

  private mutating func start() {
    service.send(request.bytes)
    let latest = begin + FingerPrompt.readyWithin
    while case .silent = transcript.state, hear(until: latest) {}
    switch transcript.state {
    case .starting, .watching, .matched: isOffered = true
    case .silent, .ended: service.finish()
    }
  }

  /// Why the prompt comes without the finger; nil: it doesn't, or the person isn't at this machine, and misses none.
  public var refusal: FingerOutcome? {
    if case .ended(.noSession) = transcript.state { return nil }
    return isOffered ? nil : transcript.outcome
  }

  deinit {
    service.finish()
    guard isOffered else { return }
    let latest = FingerPrompt.now + FingerPrompt.freeWithin
    while let bytes = service.receive(limit: 64, until: latest), !bytes.isEmpty {}
  }

  /// Stops the reader. What had arrived by then is the transcript; at Enter also what comes of the finger that is on the
  /// reader.
  public mutating func stop(atEnter: Bool) {
    guard isOffered else { return }
    while hear(until: 0) {}
    if atEnter {
      service.send([FingerRequest.enter])
      let latest = FingerPrompt.now + FingerPrompt.decidedWithin
      while case .watching = transcript.state, hear(until: latest) {}
    }
    service.finish()
  }

  /// Checks a match again, before it is taken.
  public mutating func confirm() {
    transcript.limit(toPromptFrom: begin, isForPerson: request.isForPerson)
    guard case .matched = transcript.state else { return }
    if !FingerPrompt.isPresent(request) { transcript = FingerTranscript(ended: .noSession) }
  }

  private static func isPresent(_ request: FingerRequest) -> Bool {
    guard let service = try? RootService(socket) else { return false }
    service.send(request.with(.session).bytes)
    let bytes = service.receive(limit: FingerEvent.length, until: now + readyWithin)
    return bytes.flatMap { FingerEvent($0) } == .present
  }

  /// Without that clock everything is late.
  private static var now: UInt64 { SystemClock.bootMilliseconds() ?? 0 }

  /// - Returns: whether there may be more.
  @inline(never)
  private mutating func hear(until latest: UInt64) -> Bool {
    guard let bytes = service.receive(limit: FingerPrompt.most - heard.count, until: latest) else {
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
