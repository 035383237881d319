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
/// - A helper without a slot follows MUST (helper) 9 and 10. A shortage, which a caller could bring about, MUST NOT be
///   taken for a file that isn't sound.                                          test_helper_waiting.py
public struct CallerSlot: ~Copyable {
  public struct Purpose: Sendable {
    let start: Int
    /// How many helpers of one caller may have one at a time.
    public let limit: Int

    /// Held from the start to the end of the helper.
    public static var running: Purpose { Purpose(start: 1 << 40, limit: 128) }
    /// Held from the reply to a look to the end of the helper.
    public static var waiting: Purpose { Purpose(start: 0, limit: 16) }
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
