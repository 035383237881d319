internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodeReader
internal import PasscodeSystem
internal import PasscodeVault

/// One prompt at the reader: carries out what `ReaderDialog` says, charges touches, keeps the time.
struct Session: ~Copyable {
  /// Milliseconds for fprintd to say whether a finger is enrolled, unless the bus has to start it first.
  private static let readyWithin: UInt64 = 300
  /// Milliseconds that the prompt then waits for a reader that may be in use; a slow one joins later.
  private static let claimedWithin: UInt64 = 100
  /// Milliseconds for the answer to `list`, fprintd's start included.
  private static let listedWithin: UInt64 = 2_000
  /// Milliseconds for the reader to decide about the finger that is on it at Enter.
  private static let decidedWithin: UInt64 = 1_000
  /// Milliseconds for fprintd to free the reader. After that the end of our connection does it.
  private static let finishedWithin: UInt64 = 1_000

  private let request: FingerRequest
  private let account: Account
  private let caller: Caller
  private let counter: TouchCounter
  /// Enter was pressed: only what is on the reader then still counts.
  private var isAtEnter = false

  init(_ request: FingerRequest, _ account: Account, _ caller: consuming Caller) {
    self.request = request
    self.account = account
    self.caller = caller
    counter = TouchCounter(account, .root)
  }

  mutating func run() {
    if request.operation == .watch, let end = refusal() { return tell(.ended(end)) }
    let begin = now
    let isList = request.operation == .list
    let deadline = begin + (isList ? Session.listedWithin : Session.readyWithin)
    guard let bus = SystemBus.connect() else { return tell(.ended(.noService)) }
    if request.operation != .list, !isPresent(bus, deadline) { return tell(.ended(.noSession)) }
    if request.operation == .session { return tell(.present) }
    let dialog = ReaderDialog(request.operation, name: account.name)
    var prompt = Prompt(
      dialog, from: begin, deadline: deadline, latest: isList ? deadline : begin + FingerTranscript.longest)
    if let end = talk(&prompt, bus) { tell(.ended(end)) }
    finish(&prompt, bus)
  }

  private func refusal() -> FingerEnd? {
    guard let count = try? counter.current() else { return .failed }
    return count.isOff ? .off : nil
  }

  /// Whether somebody is at the request's place.
  private mutating func isPresent(_ bus: borrowing SystemBus, _ deadline: UInt64) -> Bool {
    switch request.place {
    case .session:
      guard case .inSession(let id) = caller.presence(of: account.uid) else { return false }
      return isUnlocked(id, bus, deadline)
    case .terminal(let terminal):
      switch caller.presence(of: nil) {
      case .inSession(let id): return isUnlocked(id, bus, deadline)
      case .noSession: return isInForeground(terminal)
      case .absent: return false
      }
    }
  }

  private func isInForeground(_ terminal: FingerRequest.Terminal) -> Bool {
    switch terminal {
    case .display: true
    case .console: FingerRequest.Terminal(named: Console.foreground) == terminal
    case .other: false
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

  private enum Progress {
    case goOn
    case over(FingerEnd?)
  }

  private mutating func handle(_ step: ReaderDialog.Step, _ prompt: inout Prompt, _ bus: borrowing SystemBus)
    -> Progress
  {
    switch step {
    case .nothing: return .goOn
    case .call(let call): return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .start(let call):
      // Nobody who enrolled no finger waits for fprintd, or has it started at each prompt.
      guard request.operation == .list || mayBeEnrolled else { return .over(.notEnrolled) }
      announce(&prompt)
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

  /// A touch is charged before the reader waits for it.
  private mutating func verify(_ prompt: inout Prompt, _ bus: borrowing SystemBus) -> Progress {
    guard let charged = charge() else { return .over(.failed) }
    guard let count = charged else { return .over(.off) }
    prompt.charge = count
    return handle(prompt.dialog.verify(), &prompt, bus)
  }

  private mutating func touched(_ isMatch: Bool, _ prompt: inout Prompt, _ bus: borrowing SystemBus)
    -> Progress
  {
    guard let settled = settle(isMatch, &prompt) else { return .over(.failed) }
    guard let count = settled else { return .over(.off) }
    if isMatch {
      guard remaining(prompt.latest) > 0 else { return .over(.time) }
      guard isPresent(bus, now + Session.readyWithin) else { return .over(.noSession) }
      tell(.matched(serial: count.serial, milliseconds: prompt.drained))
      return .over(nil)
    }
    tell(.noMatch)
    prompt.misses += 1
    if prompt.misses == FingerTranscript.mostMisses { return .over(.tries) }
    if count.isOff { return .over(.off) }
    if isAtEnter { return .over(.noTouch) }
    return handle(prompt.dialog.again(), &prompt, bus)
  }

  /// Charges the touch that was decided, unless its charge still stands. One that matched is no longer charged: whoever
  /// can match may give up as often as they like.
  private func settle(_ isMatch: Bool, _ prompt: inout Prompt) -> TouchCount?? {
    let charged = charge(unless: prompt.charge.take())
    guard isMatch, let count = charged ?? nil else { return charged }
    return counter.takeBack(count)
  }

  /// nil: it couldn't be charged; nil within: the finger is off.
  private func charge(unless earlier: TouchCount? = nil) -> TouchCount?? {
    do throws(Errno) { return .some(try counter.charge(unless: earlier)) } catch { return nil }
  }

  /// Frees the reader, and takes back the charge where nobody touched it, as far as fprintd ever said.
  private func finish(_ prompt: inout Prompt, _ bus: borrowing SystemBus) {
    free(&prompt, bus)
    if prompt.dialog.isUntouched, let charge = prompt.charge.take() { counter.takeBack(charge) }
  }

  private func free(_ prompt: inout Prompt, _ bus: borrowing SystemBus) {
    let deadline = now + Session.finishedWithin
    var step: ReaderDialog.Step? = prompt.dialog.finish()
    while true {
      switch step {
      case .call(let call): if !prompt.send(call, bus) { return }
      case .touched(let isMatch): _ = settle(isMatch, &prompt)
      case .finished, .ended: return
      case .nothing, .start, .claim, .ready, .watching, .absent, .listed, nil: break
      }
      let left = remaining(deadline)
      if left == 0 { return }
      step = prompt.next(bus)
      if step == nil { Caller.waitForMessages(from: bus, milliseconds: left) }
    }
  }

  private func tell(_ event: FingerEvent) {
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
  private var now: UInt64 { SystemClock.bootMilliseconds() ?? 0 }

  private func remaining(_ deadline: UInt64) -> UInt64 {
    guard let now = SystemClock.bootMilliseconds(), now < deadline else { return 0 }
    return deadline - now
  }
}

/// What is known of a prompt so far.
private struct Prompt {
  var dialog: ReaderDialog
  /// CLOCK_BOOTTIME in milliseconds.
  var deadline: UInt64
  /// As far as the deadline may be moved.
  let latest: UInt64
  /// When the bus last had nothing for us: what comes next was said after it. CLOCK_BOOTTIME in milliseconds.
  private(set) var drained: UInt64
  /// Of the touch that the reader waits for.
  var charge: TouchCount?
  /// fprintd keeps prints of the account's.
  var isEnrolled = false
  /// The prompt may be there.
  var isAnnounced = false
  var isWatched = false
  /// At Enter, whether a finger is on the reader.
  var hasLooked = false
  var misses = 0

  init(_ dialog: ReaderDialog, from begin: UInt64, deadline: UInt64, latest: UInt64) {
    self.dialog = dialog
    drained = begin
    self.deadline = deadline
    self.latest = latest
  }

  /// - Returns: false: the bus is gone.
  mutating func send(_ call: BusCall, _ bus: borrowing SystemBus) -> Bool {
    guard let serial = bus.send(call) else { return false }
    dialog.sent(serial: serial)
    return true
  }

  /// What the next message means; nil: there is none yet.
  mutating func next(_ bus: borrowing SystemBus) -> ReaderDialog.Step? {
    let time = SystemClock.bootMilliseconds()
    switch bus.receive() {
    case .message(let message): return dialog.receive(message)
    case .more: return .nothing
    case .nothing:
      if let time { drained = time }
      return nil
    case .gone: return .ended(dialog.hasOwner ? .gone : .noService)
    }
  }
}
