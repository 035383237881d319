public import PasscodePolicy
internal import PasscodeSystem

/// When the helper last had passwords checked for a caller, whatever they were to prove:
///
///     /run/passcode/<uid>.passwords, up to 24 bytes: three times, CLOCK_BOOTTIME in milliseconds, little-endian; 0: none
///
/// MUST (helper):
/// 11  For one caller at most three passwords a minute are checked; one that is accepted takes the earlier ones back. Each is
///     counted before it is checked, and nothing gives it back that its caller can bring about. Without a sound
///     `/run/passcode` this limit does not hold.                                     test_password_tries.py
public enum PasswordTries {
  private static let limit = 3
  /// Milliseconds.
  private static let minute: UInt64 = 60_000

  /// Counts one password of a caller's, which is to be checked now.
  ///
  /// - Parameter caller: the real uid of the helper when it started.
  /// - Throws: `tooManyPasswords`; or a fault of the machine that a caller could bring about.
  public static func take(for caller: UInt32) throws(Fault) {
    do throws(Errno) {
      if try count(name(caller)) { return }
    } catch {
      guard error.isShortage || error == .wouldBlock || error == .fileTooLarge else { return }
      throw Fault(.failed, path: RunFolder.path(of: name(caller)), error: error.code)
    }
    throw Fault(.tooManyPasswords)
  }

  /// - Returns: false where there are as many as there may be.
  private static func count(_ file: Bytes) throws(Errno) -> Bool {
    let locked = try RunFolder.lock(try RunFolder.openOrMake(file, .service))
    guard let now = SystemClock.bootMilliseconds() else { throw .denied }
    let times = try locked.file.read(8 * limit, at: 0)
    for place in 0..<limit {
      let time = times.count < 8 * (place + 1) ? 0 : littleEndianNumber(times, 8 * place, 8)
      // One that lies ahead is of an earlier boot.
      if time == 0 || time > now || now - time >= minute {
        try locked.file.write(littleEndian(now, 8), at: 8 * place)
        return true
      }
    }
    return false
  }

  /// A password of the caller's was accepted.
  public static func giveBack(to caller: UInt32) {
    try? RunFolder.lock(RunFolder.open(name(caller))).file.setSize(0)
  }

  private static func name(_ caller: UInt32) -> Bytes {
    decimalDigits(UInt64(caller)) + Bytes(text: ".passwords")
  }
}
