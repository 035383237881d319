internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodeReader
internal import PasscodeSystem
internal import PasscodeVault

/// One prompt at the reader: carries out what `ReaderDialog` says, charges touches, keeps the time.
struct Session: ~Copyable {
  /// Milliseconds that the prompt waits for the reader, unless the bus has to start fprintd first.
  private static let readyWithin: UInt64 = 300
  /// Milliseconds for the answer to `list`, fprintd's start included.
  private static let listedWithin: UInt64 = 2_000
  /// Milliseconds from the start of this program to the end of the reader's use.
  private static let heldFor: UInt64 = 30_000
  /// Milliseconds for fprintd to free the reader. After that the end of our connection does it.
  private static let finishedWithin: UInt64 = 1_000

  private let request: FingerRequest
  private let account: Account
  private let caller: Caller
  private let counter: TouchCounter

  init(_ request: FingerRequest, _ account: Account, _ caller: consuming Caller) {
    self.request = request
    self.account = account
    self.caller = caller
    counter = TouchCounter(account, .root)
  }

  func run() {
    if request.operation == .watch, let end = refusal() { return tell(.ended(end)) }
    let begin = now
    let isList = request.operation == .list
    let deadline = begin + (isList ? Session.listedWithin : Session.readyWithin)
    guard let bus = SystemBus.connect() else { return tell(.ended(.noService)) }
    let isSession = request.operation == .session
    if isSession || request.wantsSession, !isPresent(bus, deadline) { return tell(.ended(.noSession)) }
    if isSession { return tell(.present) }
    let dialog = ReaderDialog(request.operation, name: account.name)
    var prompt = Prompt(dialog, deadline: deadline, latest: isList ? deadline : begin + Session.heldFor)
    if let end = talk(&prompt, bus) { tell(.ended(end)) }
    finish(&prompt, bus)
  }

  private func refusal() -> FingerEnd? {
    guard let count = try? counter.current() else { return .failed }
    return count.isOff ? .off : nil
  }

  /// Whether the person's session is active, local and not locked.
  private func isPresent(_ bus: borrowing SystemBus, _ deadline: UInt64) -> Bool {
    guard let session = caller.activeLocalSession(of: account.uid) else { return false }
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
  /// end of the time nor that of the caller.
  ///
  /// - Returns: false at either end.
  private func waits(_ bus: borrowing SystemBus, until deadline: UInt64, hasMore: Bool) -> Bool {
    let left = remaining(deadline)
    return left > 0 && caller.waits(withMessagesFrom: bus, milliseconds: hasMore ? 0 : left)
  }

  /// - Returns: what the caller is to be told at last; nil: nothing more.
  private func talk(_ prompt: inout Prompt, _ bus: borrowing SystemBus) -> FingerEnd? {
    guard prompt.send(prompt.dialog.first, bus) else { return .noService }
    while true {
      let step = prompt.next(bus)
      if case .over(let end) = handle(step ?? .nothing, &prompt, bus) { return end }
      guard waits(bus, until: prompt.deadline, hasMore: step != nil) else {
        if remaining(prompt.deadline) > 0 { return nil }
        return prompt.isWatched ? .time : .slow
      }
    }
  }

  private enum Progress {
    case goOn
    case over(FingerEnd?)
  }

  private func handle(_ step: ReaderDialog.Step, _ prompt: inout Prompt, _ bus: borrowing SystemBus)
    -> Progress
  {
    switch step {
    case .nothing: return .goOn
    case .call(let call): return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .start(let call):
      // Nobody who enrolled no finger waits for fprintd, or has it started at each prompt.
      guard request.operation == .list || mayBeEnrolled else { return .over(.notEnrolled) }
      prompt.deadline = prompt.latest
      if request.operation == .watch { tell(.starting) }
      return prompt.send(call, bus) ? .goOn : .over(.gone)
    case .watching:
      if !prompt.isWatched { tell(.watching) }
      prompt.isWatched = true
      prompt.deadline = prompt.latest
      return .goOn
    case .touched(let isMatch): return touched(isMatch, &prompt, bus)
    case .listed(let fingers):
      tell(.listed(fingers))
      return .over(nil)
    case .finished: return .over(nil)
    case .ended(let end): return .over(end)
    }
  }

  /// Charged first, whatever the result.
  private func touched(_ isMatch: Bool, _ prompt: inout Prompt, _ bus: borrowing SystemBus) -> Progress {
    let time = now
    guard let charged = charge() else { return .over(.failed) }
    guard let count = charged else { return .over(.off) }
    if isMatch {
      tell(.matched(serial: count.serial, milliseconds: time))
      return .over(nil)
    }
    tell(.noMatch)
    prompt.misses += 1
    if prompt.misses == FingerTranscript.mostMisses { return .over(.tries) }
    if count.isOff { return .over(.off) }
    return handle(prompt.dialog.again(), &prompt, bus)
  }

  /// nil: it couldn't be charged; nil within: the finger is off.
  private func charge() -> TouchCount?? {
    do throws(Errno) { return .some(try counter.charge()) } catch { return nil }
  }

  /// Frees the reader. Charges what fprintd had decided by then, and a touch where it doesn't say so in time.
  private func finish(_ prompt: inout Prompt, _ bus: borrowing SystemBus) {
    let deadline = now + Session.finishedWithin
    var step: ReaderDialog.Step? = prompt.dialog.finish()
    while true {
      switch step {
      case .call(let call): if !prompt.send(call, bus) { return }
      case .touched: _ = charge()
      case .finished, .ended: return
      case .nothing, .start, .watching, .listed, nil: break
      }
      let left = remaining(deadline)
      if left == 0 {
        if prompt.dialog.mayHaveDecided { _ = charge() }
        return
      }
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
  var isWatched = false
  var misses = 0

  init(_ dialog: ReaderDialog, deadline: UInt64, latest: UInt64) {
    self.dialog = dialog
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
    switch bus.receive() {
    case .message(let message): dialog.receive(message)
    case .more: .nothing
    case .nothing: nil
    case .gone: .ended(dialog.hasOwner ? .gone : .noService)
    }
  }
}
