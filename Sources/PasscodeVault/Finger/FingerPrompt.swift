public import PasscodePolicy
internal import PasscodeSystem

/// The fingerprint reader beside one prompt: a process of `passcode-finger`, asked and heard by root's socket.
///
/// systemd starts that process, in a unit of its own: a child would stay in the cgroup of the person who runs the program,
/// who may freeze and kill what is there.                                         test_finger_socket.py
///
/// MUST (finger); the program's part is in passcode-finger's Main.swift:
///  1  The finger is offered only where the passcode could be tried just then: admitted by the gate, enrolled, and neither
///     locked, locked out nor disabled; besides, only with effective uid 0, for a local login (even with `remote=allow`), and
///     without `second_factor=yes` (the password is enough to enrol a finger).   GateTests, test_finger_prompt.py
///  2  It is offered, and a match taken, only for a passcode that its owner chose: not while one stands that was given out
///     for one login, which a finger wouldn't spend, except with `finger=both`, where the passcode spends it.
///     AttemptTests, test_finger_prompt.py
///  3  The person's session is checked (of the class user, on a seat, active, local, not locked) where the program runs for
///     somebody: the real uid isn't root's, or PAM_RUSER names somebody else than root (sudo's real uid is 0). For other
///     programs it is the session that the caller itself belongs to; without one the prompt must be on the virtual console
///     in the foreground, or on the display of the session that is seen on seat0, which must be a login screen's or the
///     person's own (for a login screen that names no display: a login screen's). It is thus no serial line,
///     pseudo-terminal or display of a VNC server, and without logind no display. The passcode is asked all the same.
///     GateTests, test_finger_session.py, test_finger_prompt.py
///  4  That is checked again before a match is taken.                                   test_finger_session.py
///  5  Only root is talked to: the socket's other end is root's by SO_PEERCRED, and the program answers only root.
///     test_finger_socket.py
///  6  The prompt waits at most 300 ms: for fprintd to say whether a finger is enrolled, for which no reader is claimed, and
///     at most 100 ms of that for the reader, which may be in use (a slower one joins later); and not at all while the bus
///     starts fprintd.                                           test_finger_prompt.py, test_finger_figures.py
///  7  A match is only one whole valid transcript, from this connection, that had arrived when Enter (alone, or with
///     `finger=both` after a passcode) was answered, or within 1 s after that: of a finger that was on the reader then, or
///     at a login screen one kept from before. It is at most 10 s old, and in a program that runs for a person from the
///     prompt's first 30 s, by CLOCK_BOOTTIME, which counts suspend.
///     FingerTranscriptTests, test_finger_prompt.py, FuzzFinger
///  8  It is granted from one line, under the record's lock, after it was decided again there: state, ledger, terms, the
///     sealed credential, the match's age, and last the touch count, whose serial must be the match's own. One
///     match thus lets in once.                                                AttemptTests, test_finger_prompt.py
///  9  The passcode's ledger never changes because of a finger, and the one login of a passcode that was given out isn't
///     spent.                                                                               test_finger_prompt.py
/// 10  The touch count is reset only when a passcode is granted (with `finger=yes`, or through the helper), when a match is
///     taken, or when a program with effective uid 0 sets credentials or opens a session in a handle in which the gate
///     admitted that account (or would after its first login), and PAM_USER or PAM_RUSER is still that account: the
///     passcode or another module let it in then.                                           test_finger_prompt.py
/// 11  The connection ends when the conversation returns, whatever it returns, or else with the process: within 1 s the
///     reader is free.                                                                      test_finger_prompt.py
public final class FingerPrompt {
  /// Milliseconds.
  private static let readyWithin: UInt64 = 300
  /// Milliseconds for the reader to decide about the finger that is on it at Enter, and for the second look at the session.
  private static let decidedWithin: UInt64 = 1_100
  /// Milliseconds for the reader to be freed.
  private static let freeWithin: UInt64 = 1_000
  /// One byte more than a valid transcript has.
  private static let most = FingerTranscript.mostEvents * FingerEvent.length + 1
  /// The path of root's socket, which passcode-finger.socket names, too.
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
  public init?(_ request: FingerRequest) {
    guard let begin = SystemClock.bootMilliseconds(), let service = try? RootService(FingerPrompt.socket)
    else { return nil }
    self.service = service
    self.request = request
    self.begin = begin
    self.service.send(request.bytes)
    let latest = begin + FingerPrompt.readyWithin
    while case .silent = transcript.state, hear(until: latest) {}
    switch transcript.state {
    case .starting, .watching, .matched: isOffered = true
    case .silent, .ended: self.service.finish()
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

  /// Stops the reader. The transcript is what had arrived by then; at Enter also what comes of a finger that is on it.
  public func stop(atEnter: Bool) {
    guard isOffered else { return }
    while hear(until: 0) {}
    if atEnter {
      service.send([FingerRequest.enter])
      let latest = FingerPrompt.now + FingerPrompt.decidedWithin
      while case .watching = transcript.state, hear(until: latest) {}
    }
    service.finish()
  }

  /// Checks the time of a match, and the person's session, again before the match lets somebody in.
  public func confirm() {
    transcript.limit(toPromptFrom: begin, isForPerson: request.isForPerson)
    guard case .matched = transcript.state else { return }
    if let end = FingerPrompt.hindrance(request) { transcript = FingerTranscript(ended: end) }
  }

  /// Why no match counts now: the person isn't where the finger is used, or prints changed; nil: nothing speaks against one. With
  /// `finger_for` their prints are seen by that.
  @discardableResult
  public static func hindrance(_ request: FingerRequest) -> FingerEnd? {
    guard let service = try? RootService(socket) else { return .noSession }
    service.send(FingerRequest(.session, uid: request.uid, at: request.place).bytes)
    switch service.receive(limit: FingerEvent.length, until: now + decidedWithin).flatMap({ FingerEvent($0) })
    {
    case .present?: return nil
    case .ended(let end)?: return end
    default: return .noSession
    }
  }

  /// CLOCK_BOOTTIME now; 0 without that clock: then everything is late.
  private static var now: UInt64 { SystemClock.bootMilliseconds() ?? 0 }

  /// - Returns: whether there may be more.
  @inline(never)
  private func hear(until latest: UInt64) -> Bool {
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
