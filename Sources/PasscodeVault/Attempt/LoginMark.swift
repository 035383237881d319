internal import PasscodePolicy
public import PasscodeSystem

/// That an account has logged in by other means than the passcode since the machine started, for
/// `first_login=deny`: an empty file /run/passcode/<uid>.login. /run doesn't outlive a boot.
///
/// - It MUST be set only by a session that follows our own refusal in the same handle, for the same account, and
///   by a proof of the account's password (`Vault.noteProof`), as in an enrolment, or in sudo with a line `proven`: no cron
///   job, lingering service or autologin sets it, nor sudo without such a proof. Nor does a session by ssh: sshd
///   authenticates in a child process.
/// - What can't be read MUST count as not set.
/// - Tests: test_first_login.py.
///
/// MUST (key):
///  7  A store that is put back from outside gains no attempt where `first_login=deny`: a boot refuses each passcode until
///     the password opened a session.                                                        test_rollback.py
public struct LoginMark {
  private let uid: UInt32
  private let access: Access

  public init(_ uid: UInt32, _ access: Access) {
    self.uid = uid
    self.access = access
  }

  @inline(never)
  private var name: Bytes { decimalDigits(UInt64(uid)) + Bytes(text: ".login") }

  /// Whether the account has logged in by other means since the boot; in doubt it has not.
  @inline(never)
  public var isSet: Bool {
    guard RunFolder.isSound(access) else { return false }
    // By name and not opened: root's mark is root's alone to read, and the helper needs only to see it.
    let status = try? FileStatus.of(RunFolder.path(of: name))
    return status?.kind == .file
  }

  /// - Throws: an error where it could not be set; the end of the session tries again, and so does another login.
  public func set() throws(Errno) {
    let folder = try RunFolder.open(access)
    do throws(Errno) {
      _ = try folder.open(name, .create(mode: 0o600))
    } catch {
      if error != .exists { throw error }
    }
  }
}
