internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodeReader
internal import PasscodeSystem

/// What is known of a prompt so far.
struct Prompt {
  private let unasked: ReaderDialog
  var dialog: ReaderDialog
  /// CLOCK_BOOTTIME in milliseconds.
  var deadline: UInt64 = 0
  /// The time beyond which the deadline is never moved.
  private(set) var latest: UInt64 = 0
  /// When the bus last had no message for this program: the next one was sent later. CLOCK_BOOTTIME in milliseconds.
  private(set) var drained: UInt64 = 0
  /// The touch count with the charge of the touch that the reader waits for.
  var charge: TouchCount?
  /// fprintd keeps prints of the account's.
  var isEnrolled = false
  /// Whether the module was told that the reader waits.
  var isAnnounced = false
  /// The reader waited for a touch.
  var isWatched = false
  /// Whether the program has looked, at Enter, for a finger on the reader.
  var hasLooked = false
  var misses = 0

  init(_ request: FingerRequest, _ account: Account) {
    unasked = ReaderDialog(request.operation, name: account.name)
    dialog = unasked
  }

  /// For the first time, or once more: what the person has been told stays, and so do the touches that didn't match.
  ///
  /// - Parameters: in milliseconds; `begin` by CLOCK_BOOTTIME.
  mutating func begin(at begin: UInt64, ready: UInt64, longest: UInt64) {
    (dialog, charge) = (unasked, nil)
    (drained, deadline, latest) = (begin, begin + ready, begin + longest)
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
