internal import PasscodePolicy
internal import PasscodeSystem

/// The right of a helper to go on, of which each caller has a limited number.
///
/// A helper doesn't count towards its caller's RLIMIT_NPROC: it runs as `_passcode`. Without this limit one person
/// could fill the memory with helpers that wait for a request, for an attempt, for a record.
///
///     /run/passcode/waiting    empty, mode 0600; each slot is one byte that its helper locks
///         uid × 16 + i             waiting for the attempt after a look, i below 16
///         2^40 + uid × 128 + i     running, i below 128
///         2^41 + i                 passcode-fleet, until the first sign of the verifier, i below 8
///         2^41 + 8 + i             the same, started by root's programs
///         2^42 + uid × 4 + i       passcode-fleet that a helper started, of the account that it asks about, i below 4
///         2^43 + uid × 4 + i       the same, started by root's programs
///
/// The lock belongs to the open file (F_OFD_SETLK), so it ends with the process, however that ends. Nothing is written,
/// so nothing can be stale. The uid is the helper's real one when it started; root has no exception.
///
/// - One caller's helpers MUST NOT use up another's slots.                       test_helper_waiting.py
/// - The file MUST be the helper's own: no caller can open it, so none can lock it.  test_helper_waiting.py
/// - A helper without a slot for waiting MUST NOT wait. That is so, too, where the file can't be opened or made: the
///   limit always holds, and its price is the start of a second helper, not a refusal.  test_helper_waiting.py
/// - A helper that finds all 128 taken MUST end at once, without reading its request. Where there is no sound file, it
///   goes on: a fault in /run/passcode refuses nobody. A shortage, which a caller could bring about, is no such fault.
///                                                                               test_helper_waiting.py
public struct CallerSlot: ~Copyable {
  public enum Purpose: Sendable {
    /// Held from the start to the end of the helper.
    case running
    /// Held from the reply to a look to the end of the helper.
    case waiting
    /// Of passcode-fleet that a helper started: from the connection to the first sign of the verifier.
    case connecting
    /// The slots to connect for processes that root's programs started.
    case connectingForRoot
    /// The slots to connect for one account; by helpers, and by root's programs.
    case connectingForAccount
    case connectingForAccountAndRoot

    /// How many helpers of one caller may have one at a time.
    public var limit: Int {
      switch self {
      case .running: 128
      case .waiting: 16
      case .connecting, .connectingForRoot: 8
      case .connectingForAccount, .connectingForAccountAndRoot: 4
      }
    }

    fileprivate var start: Int {
      switch self {
      case .running: 1 << 40
      case .connecting: 1 << 41
      case .connectingForRoot: 1 << 41 + 8
      case .connectingForAccount: 1 << 42
      case .connectingForAccountAndRoot: 1 << 43
      case .waiting: 0
      }
    }
  }

  public enum Outcome: ~Copyable {
    case taken(CallerSlot)
    case allTaken
    case noSoundFile

    public var areAllTaken: Bool {
      switch self {
      case .allTaken: true
      case .taken: false
      case .noSoundFile: false
      }
    }
  }

  private let range: RangeLock

  /// Takes one of the caller's slots, until the process ends.
  public static func take(_ purpose: Purpose, for caller: UInt32) -> Outcome {
    do throws(Errno) {
      let file = try RunFolder.openOrMake(Bytes(text: "waiting"), .service)
      let first = purpose.start + Int(caller) * purpose.limit
      guard let byte = try RangeLock.lockOne(of: first..<first + purpose.limit, in: file) else {
        return .allTaken
      }
      return .taken(CallerSlot(range: RangeLock(file, at: byte, count: 1)))
    } catch {
      return error.isShortage ? .allTaken : .noSoundFile
    }
  }
}
