internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeReader
internal import PasscodeSystem
internal import PasscodeVault

/// One prompt at the reader: carries out what `ReaderDialog` says, charges touches, keeps the time.
struct Session: ~Copyable {
  /// Milliseconds for fprintd to say whether a finger is enrolled, unless the bus has to start it first.
  static let readyWithin: UInt64 = 300
  /// Milliseconds that the prompt then waits for a reader that may be in use; a slow one joins later.
  private static let claimedWithin: UInt64 = 100
  /// Milliseconds for the answer to `list`, fprintd's start included.
  private static let listedWithin: UInt64 = 2_000
  /// Milliseconds for the reader to decide about the finger that is on it at Enter.
  private static let decidedWithin: UInt64 = 1_000
  /// Milliseconds for fprintd to free the reader. After that the end of our connection does it.
  static let finishedWithin: UInt64 = 1_000
  /// Milliseconds that the reader is left to others, before a login screen takes it again.
  private static let leftWithin: UInt64 = 2_000
  /// Seconds, for the kernel, should all else fail; longer than the reader may be held at a time.
  static let longest: UInt32 = 40

  private let request: FingerRequest
  private let account: Account
  private let caller: Caller
  let counter: TouchCounter
  /// With `finger_for`: what tells whether the prints are those that were there when the passcode was last used.
  let prints: NotedPrints?
  /// Enter was pressed: only what is on the reader then still counts.
  private(set) var isAtEnter = false
  /// Why a login screen doesn't have the reader just now.
  private var lastEnd = FingerEnd.noTouch
  /// What it is told at Enter instead: a match that is fresh.
  private var kept: (match: FingerEvent, milliseconds: UInt64)?

  init(_ request: FingerRequest, _ account: Account, _ caller: consuming Caller) {
    self.request = request
    self.account = account
    self.caller = caller
    counter = TouchCounter(uid: account.uid, .root)
    prints = request.operation == .list ? nil : NotedPrints.watched(account)
  }

  mutating func run() {
    if request.operation == .watch, let end = refusal() { return tell(.ended(end)) }
    if request.operation == .session, haveChanged { return tell(.ended(.printsChanged)) }
    var prompt = Prompt(request, account)
    repeat {
      HelperService.limitTime(seconds: Session.longest)
      let isList = request.operation == .list
      prompt.begin(
        at: now, ready: isList ? Session.listedWithin : Session.readyWithin,
        longest: isList ? Session.listedWithin : FingerTranscript.longest)
    } while hold(&prompt) && leaves()
  }

  /// Holds the fingerprint reader for one prompt, and frees it again.
  ///
  /// - Returns: whether to take it once more.
  private mutating func hold(_ prompt: inout Prompt) -> Bool {
    guard let bus = SystemBus.connect() else { return isToComeBack(prompt, .noService) }
    if request.operation != .list, !isPresent(bus, prompt.deadline) {
      return isToComeBack(prompt, .noSession)
    }
    if request.operation == .session {
      tell(.present)
      return false
    }
    let end = talk(&prompt, bus)
    let comesBack = end.map { isToComeBack(prompt, $0) } ?? (kept != nil)
    finish(&prompt, bus)
    return comesBack
  }

  /// A login screen stands before anybody comes: there the reader is taken again as long as the prompt does, unless its
  /// end is the finger's, or the account's. Any other end is told.
  private mutating func isToComeBack(_ prompt: Prompt, _ end: FingerEnd) -> Bool {
    if end.mayPass, prompt.isEnrolled, prompt.isAnnounced, !isAtEnter, !request.isForPerson {
      lastEnd = end == .time ? .noTouch : end
      return true
    }
    tell(.ended(end))
    return false
  }

  /// Tells a match; at a login screen at Enter, for once it is told no other one can be.
  mutating func tellMatch(serial: UInt32, milliseconds: UInt64) {
    let match = FingerEvent.matched(serial: serial, milliseconds: milliseconds)
    if request.isForPerson || isAtEnter { return tell(match) }
    kept = (match, milliseconds)
  }

  /// Leaves the reader to others for a while: for as long as a match is fresh.
  ///
  /// - Returns: whether the prompt still stands: at its end false, and at Enter.
  private mutating func leaves() -> Bool {
    HelperService.limitTime(seconds: Session.longest)
    let match = kept.take()
    let deadline = match.map { $0.milliseconds + FingerTranscript.matchIsFresh } ?? now + Session.leftWithin
    while true {
      let left = remaining(deadline)
      if left == 0 { return true }
      if caller.waits(milliseconds: left) { continue }
      if HelperService.nextByte() == FingerRequest.enter { tell(match?.match ?? .ended(lastEnd)) }
      return false
    }
  }

  private func refusal() -> FingerEnd? {
    guard let count = try? counter.current() else { return .failed }
    if count.isOff { return .off }
    return mayBeEnrolled && haveChanged ? .printsChanged : nil
  }

  /// Whether the prints aren't known to be those that were there when the passcode was last used.
  var haveChanged: Bool { prints.map { !$0.areKnown } ?? false }

  /// Whether somebody is at the request's place.
  mutating func isPresent(_ bus: borrowing SystemBus, _ deadline: UInt64) -> Bool {
    switch request.place {
    case .session:
      guard case .inSession(let id) = caller.presence(of: account.uid) else { return false }
      return isUnlocked(id, bus, deadline)
    case .terminal(let terminal):
      switch caller.presence(of: nil) {
      case .inSession(let id): return isUnlocked(id, bus, deadline)
      case .noSession:
        if terminal.isConsole { return FingerRequest.Terminal(named: Console.foreground) == terminal }
        guard let id = SeenSession.find(at: terminal, of: account.uid) else { return false }
        return isUnlocked(id, bus, deadline)
      case .absent: return false
      }
    }
  }

  /// Whether that session isn't locked.
  private mutating func isUnlocked(_ session: Bytes, _ bus: borrowing SystemBus, _ deadline: UInt64) -> Bool {
    var dialog = SessionDialog(session)
    var step = SessionDialog.Step.call(dialog.first)
    while true {
      switch step {
      case .call(let call):
        guard let serial = bus.send(call) else { return false }
        dialog.sent(serial: serial)
      case .unlocked: return true
      case .refused: return false
      case .nothing: break
      }
      let received = bus.receive()
      switch received {
      case .message(let message): step = dialog.receive(message)
      case .gone: return false
      case .more, .nothing: step = .nothing
      }
      guard waits(bus, until: deadline, hasMore: received != .nothing) else { return false }
    }
  }

  /// Waits for the next message, or only looks where there may be one already: a flood of them MUST hold up neither the
  /// end of the time nor that of the caller: test_finger_attacks.py.
  ///
  /// - Returns: false at either end. Enter is none.
  private mutating func waits(_ bus: borrowing SystemBus, until deadline: UInt64, hasMore: Bool) -> Bool {
    let left = remaining(deadline)
    if left == 0 { return false }
    if caller.waits(withMessagesFrom: bus, milliseconds: hasMore ? 0 : left) { return true }
    if isAtEnter { return false }
    isAtEnter = HelperService.nextByte() == FingerRequest.enter
    return isAtEnter
  }

  /// - Returns: what the caller is to be told at last; nil: nothing more.
  private mutating func talk(_ prompt: inout Prompt, _ bus: borrowing SystemBus) -> FingerEnd? {
    guard prompt.send(prompt.dialog.first, bus) else { return .noService }
    while true {
      let step = prompt.next(bus)
      if case .over(let end) = handle(step ?? .nothing, &prompt, bus) { return end }
      guard waits(bus, until: prompt.deadline, hasMore: step != nil) else {
        if remaining(prompt.deadline) > 0 { return nil }
        if isAtEnter { return .noTouch }
        if prompt.isEnrolled, !prompt.isAnnounced {
          announce(&prompt)
          continue
        }
        return prompt.isWatched ? .time : .slow
      }
      if isAtEnter, !prompt.hasLooked, case .over(let end) = look(&prompt, bus) { return end }
    }
  }

  /// What is on the reader at Enter may still be decided.
  private mutating func look(_ prompt: inout Prompt, _ bus: borrowing SystemBus) -> Progress {
    prompt.hasLooked = true
    prompt.deadline = min(prompt.deadline, now + Session.decidedWithin)
    return handle(prompt.dialog.look(), &prompt, bus)
  }

  enum Progress {
    case goOn
    case over(FingerEnd?)
  }

  mutating func handle(_ step: ReaderDialog.Step, _ prompt: inout Prompt, _ bus: borrowing SystemBus)
    -> Progress
  {
    switch step {
    case .nothing: return .goOn
    case .call(let call): return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .start(let call):
      // Nobody who enrolled no finger waits for fprintd, or has it started at each prompt.
      guard request.operation == .list || mayBeEnrolled else { return .over(.notEnrolled) }
      if !prompt.isAnnounced { announce(&prompt) }
      return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .claim(let call):
      prompt.isEnrolled = true
      // The module must hear that the reader joins late before its own time is over.
      prompt.deadline = min(prompt.deadline, now + 2 * Session.claimedWithin) - Session.claimedWithin
      if prompt.isAnnounced { prompt.deadline = prompt.latest }
      return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .ready: return verify(&prompt, bus)
    case .watching:
      if !prompt.isWatched { tell(.watching) }
      (prompt.isWatched, prompt.isAnnounced) = (true, true)
      prompt.deadline = prompt.latest
      return .goOn
    case .touched(let isMatch): return touched(isMatch, &prompt, bus)
    case .absent: return .over(.noTouch)
    case .listed(let fingers):
      tell(.listed(fingers))
      return .over(nil)
    case .finished: return .over(nil)
    case .ended(let end): return .over(end)
    }
  }

  /// The prompt needn't wait any longer: the reader joins later.
  private func announce(_ prompt: inout Prompt) {
    if request.operation == .watch { tell(.starting) }
    prompt.isAnnounced = true
    prompt.deadline = prompt.latest
  }

  func tell(_ event: FingerEvent) {
    HelperService.reply(event.bytes)
  }

  /// Whether fprintd keeps something for this account: where it doesn't run, that is all there is to see.
  private var mayBeEnrolled: Bool {
    for byte in account.name where byte == UInt8(ascii: "/") || byte == 0 { return false }
    guard let name = account.name.first, name != UInt8(ascii: "."),
      let folder = try? Descriptor.open(Bytes(text: "/var/lib/fprint/") + account.name, .directory),
      let names = try? folder.names()
    else { return false }
    return !names.isEmpty
  }

  /// CLOCK_BOOTTIME in milliseconds: time in suspend counts. Without that clock no time is left.
  var now: UInt64 { SystemClock.bootMilliseconds() ?? 0 }

  func remaining(_ deadline: UInt64) -> UInt64 {
    guard let now = SystemClock.bootMilliseconds(), now < deadline else { return 0 }
    return deadline - now
  }
}
