public import PasscodePolicy
internal import PasscodeSystem

/// The right of a helper to go on, of which each caller has a limited number.
///
/// A helper doesn't count towards its caller's RLIMIT_NPROC: it runs as `_passcode`. Without this limit one person
/// could fill the memory with helpers that wait for a request, for an attempt, for a record.
///
///     /run/passcode/waiting    empty, mode 0600; each slot is one byte that its helper locks
///         uid × 16 + i             waiting for the attempt after a look, i below 16
///         2^40 + uid × 128 + i     running, i below 128
///         from 2^41 on             passcode-fleet (PasscodeFleet's CallerSlot+Connecting)
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
    let limit: Int

    package init(start: Int, limit: Int) {
      self.start = start
      self.limit = limit
    }

    /// Held from the start to the end of the helper.
    public static var running: Purpose { Purpose(start: 1 << 40, limit: 128) }
    /// Held from the reply to a look to the end of the helper.
    public static var waiting: Purpose { Purpose(start: 0, limit: 16) }
  }

  private let lock: ByteLock

  /// Takes one of the caller's slots, until the process ends.
  ///
  /// - Returns: nil without a sound file.
  /// - Throws: `tooManyRequests` if all are taken, or something ran short.
  public static func take(_ purpose: Purpose, for caller: UInt32) throws(Fault) -> CallerSlot? {
    do throws(Errno) {
      let file = try RunFolder.openOrMake(Bytes(text: "waiting"), .service)
      let first = purpose.start + Int(caller) * purpose.limit
      if let byte = try ByteLock.lockOne(of: first..<first + purpose.limit, in: file) {
        return CallerSlot(lock: ByteLock(file, at: byte))
      }
    } catch {
      if !error.isShortage { return nil }
    }
    throw Fault(.tooManyRequests, number: UInt64(purpose.limit))
  }
}
