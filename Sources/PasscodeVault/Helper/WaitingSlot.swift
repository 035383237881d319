internal import PasscodePolicy
internal import PasscodeSystem

/// The right of a helper to wait for the attempt after a look. At most 16 helpers of one caller have it at a time.
///
/// A waiting helper runs as `_passcode`, so it doesn't count towards its caller's RLIMIT_NPROC. Without this bound one
/// person could fill the memory with helpers.
///
///     /run/passcode/waiting    empty, mode 0600; the i-th helper of a uid locks the byte uid × 16 + i
///
/// The lock belongs to the open file (F_OFD_SETLK), so it ends with the process, however that ends. Nothing is written,
/// so nothing can be stale. The uid is the helper's real one when it started; root has no exception.
///
/// - One caller's helpers MUST NOT use up another's slots.                       test_helper_waiting.py
/// - The file MUST be the helper's own: no caller can open it, so none can lock it.  test_helper_waiting.py
/// - A helper without a slot MUST NOT wait. That is so, too, where the file can't be opened or made: the bound always
///   holds, and its price is the start of a second helper, not a refusal.        test_helper_waiting.py
public struct WaitingSlot: ~Copyable {
  private static let most = 16

  private let range: RangeLock

  /// Takes one of the caller's slots, until the process ends; nil: all are taken, or there is no sound file.
  public static func take(for caller: UInt32) -> WaitingSlot? {
    guard let file = try? open() else { return nil }
    for byte in Int(caller) * most..<(Int(caller) + 1) * most
    where RangeLock.tryLock(file, at: byte, count: 1) {
      return WaitingSlot(range: RangeLock(file, at: byte, count: 1))
    }
    return nil
  }

  private static func open() throws(Errno) -> Descriptor {
    let file = try openOrCreate()
    let status = try file.status()
    // `_passcode` could open it, and only its owner may: so it is its own.
    guard status.kind == .file, status.mode & 0o077 == 0 else { throw .denied }
    return file
  }

  private static func openOrCreate() throws(Errno) -> Descriptor {
    let folder = try RunFolder.open(.service)
    let name = Bytes(text: "waiting")
    do throws(Errno) {
      return try folder.open(name, .readWrite)
    } catch {
      guard error == .noEntry else { throw error }
    }
    do throws(Errno) {
      return try folder.open(name, .create(mode: 0o600))
    } catch {
      guard error == .exists else { throw error }
    }
    return try folder.open(name, .readWrite)  // another helper was faster
  }
}
