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

/// When the account's password was last proven since the machine started, for `password_every`:
///
///     /run/passcode/<uid>.proof, 8 bytes: CLOCK_BOOTTIME in milliseconds, little-endian
///
/// MUST (proof):
///  5  With `password_every` the passcode opens nothing once that time has passed since the last proof of the password, or
///     before there is one after a start of the machine. Only CLOCK_BOOTTIME counts, which goes on while the machine sleeps:
///     setting the wall clock lengthens nothing. What can't be read, or lies ahead, is no proof.   test_pause.py
struct ProofTime {
  private let file: Bytes
  private let access: Access

  init(_ uid: UInt32, _ access: Access) {
    file = decimalDigits(UInt64(uid)) + Bytes(text: ".proof")
    self.access = access
  }

  func isWithin(_ seconds: UInt64, of now: Instant) -> Bool {
    RunFolder.isSound(access) && RunFolder.recent(file, 8, within: seconds * 1_000, of: now) != nil
  }

  /// Notes that the password is proven now. If that fails, the password has to be proven again.
  func set(at now: Instant) {
    do throws(Errno) {
      let opened = try RunFolder.openOrMake(file, access)
      // Still root's, because its maker was killed: the helper could neither read nor write it until the next boot.
      if access == .root, let owner = serviceAccount() { try opened.setOwner(owner.uid, group: 0) }
      try opened.write(littleEndian(now.milliseconds, 8), at: 0)
    } catch {}
  }
}
