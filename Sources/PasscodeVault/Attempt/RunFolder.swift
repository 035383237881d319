public import PasscodePolicy
public import PasscodeSystem

/// The runtime directory, for what holds within one boot: /run/passcode, made by the first root caller where tmpfiles
/// didn't; the service account's alone. One whose maker was killed before it had that owner gets it from the next root
/// caller.                                                                    test_first_login.py
package enum RunFolder {
  @inline(never)
  package static var path: Bytes { Bytes(text: "/run/passcode") }

  package static func path(of file: Bytes) -> Bytes { joined(path, file) }

  /// Opens a file there for reading and writing: only a plain one with this one name, since another name of some file of
  /// root's is nothing to write into; and only one that nobody else may open, since they could lock it.
  ///
  /// - Throws: `denied` for any other file.
  @inline(never)
  package static func open(_ file: Bytes) throws(Errno) -> Descriptor {
    let opened = try Descriptor.open(path(of: file), .readWrite)
    let status = try opened.status()
    guard status.kind == .file, status.links == 1, status.mode & 0o077 == 0 else { throw .denied }
    return opened
  }

  /// What a file there keeps together with a time: CLOCK_BOOTTIME in milliseconds, 8 bytes, little-endian; then the rest.
  ///
  /// - Parameters:
  ///   - length: of both, in bytes.
  ///   - milliseconds: how old it may be.
  /// - Returns: the whole content; nil if it is older, from the future, or not as it should be.
  @inline(never)
  static func recent(_ file: Bytes, _ length: Int, within milliseconds: UInt64, of now: Instant) -> Bytes? {
    guard let content = try? open(file).read(length + 1, at: 0), content.count == length else { return nil }
    let time = littleEndianNumber(content, 0, 8)
    return time <= now.milliseconds && now.milliseconds - time < milliseconds ? content : nil
  }

  /// Opens a file there, or makes it, for the service account alone.
  @inline(never)
  package static func openOrMake(_ file: Bytes, _ access: Access) throws(Errno) -> Descriptor {
    do throws(Errno) { return try open(file) } catch { guard error == .noEntry else { throw error } }
    let folder = try open(access)
    do throws(Errno) {
      let made = try folder.open(file, .create(mode: 0o600))
      try made.setMode(0o600)
      if access == .root, let owner = serviceAccount() { try made.setOwner(owner.uid, group: 0) }
      return made
    } catch {
      guard error == .exists else { throw error }
    }
    return try open(file)  // another process was faster
  }

  /// Locks a file there. Others hold it for microseconds: after a second it is busy.
  package static func lock(_ file: consuming Descriptor) throws(Errno) -> FileLock {
    var file = file
    for _ in 0..<1_000 {
      switch FileLock.tryLock(file) {
      case .locked(let lock): return lock
      case .failed(let error): throw error
      case .busy(let same): file = same
      }
      SystemClock.sleep(microseconds: 1_000)
    }
    throw .wouldBlock
  }

  @inline(never)
  package static func open(_ access: Access) throws(Errno) -> Descriptor {
    let folder: Descriptor
    do throws(Errno) { folder = try Descriptor.open(path, .directory) } catch {
      guard error == .noEntry, access == .root else { throw error }
      do throws(Errno) { folder = try makeDirectory(path, mode: 0o700) } catch {
        guard error == .exists else { throw error }
        folder = try Descriptor.open(path, .directory)  // another process was faster
      }
    }
    if access == .root, try folder.status().owner == 0, let owner = serviceAccount() {
      try folder.setMode(0o700)
      try folder.setOwner(owner.uid, group: 0)
    }
    return folder
  }

  /// Whether the directory is there, and nobody else's.
  @inline(never)
  static func isSound(_ access: Access) -> Bool {
    guard case .found = try? Trust(access: access, subject: .store).open(path) else { return false }
    return true
  }
}

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
    // By name and not opened: root's mark is root's alone to read, and the helper needs only to see it.
    RunFolder.isSound(access) && (try? FileStatus.of(RunFolder.path(of: name)))?.kind == .file
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

/// When something last happened since the machine started:
///
///     /run/passcode/<uid>.proof    the account's password was proven, for `password_every`
///     /run/passcode/<uid>.use      the passcode was accepted or the password proven, for `finger_for`
///
/// Each has 8 bytes: CLOCK_BOOTTIME in milliseconds, little-endian.
///
/// MUST (proof):
///  5  With `password_every` the passcode opens nothing once that time has passed since the last proof of the password, or
///     before there is one after a start of the machine. Only CLOCK_BOOTTIME counts, which goes on while the machine sleeps:
///     setting the wall clock lengthens nothing. What can't be read, or lies ahead, is no proof.   test_pause.py
///  6  With `finger_for` no finger is offered or taken once that time has passed since the last accepted passcode or proof of
///     the password, or before there is one after a start of the machine. It is decided again when a match is taken.
///     test_finger_prompt.py
struct NotedTime {
  enum Event {
    case proof, use
  }

  private let file: Bytes
  private let access: Access

  init(_ event: Event, _ uid: UInt32, _ access: Access) {
    file = decimalDigits(UInt64(uid)) + Bytes(text: event == .proof ? ".proof" : ".use")
    self.access = access
  }

  /// - Parameter seconds: at most 30 days.
  func isWithin(_ seconds: UInt64, of now: Instant) -> Bool {
    RunFolder.isSound(access) && RunFolder.recent(file, 8, within: seconds &* 1_000, of: now) != nil
  }

  /// Writes the present time as the event's. If that fails, the passcode or the password must be typed once more.
  func set(at now: Instant) {
    do throws(Errno) {
      let opened = try RunFolder.openOrMake(file, access)
      // Still root's, because its maker was killed: the helper could neither read nor write it until the next boot.
      if access == .root, let owner = serviceAccount() { try opened.setOwner(owner.uid, group: 0) }
      try opened.write(littleEndian(now.milliseconds, 8), at: 0)
    } catch {}
  }
}

extension Vault {
  /// Notes that the password was proven just now. If that can't be noted, it has to be proven once more.
  public func noteProof(of account: Account) throws(Fault) {
    try? LoginMark(account.uid, configuration.access).set()
    noteUse(of: account)
    if policy.passwordEvery > 0 {
      NotedTime(.proof, account.uid, configuration.access).set(at: try clock.now())
    }
  }

  /// Notes that a passcode was accepted, for `finger_for`.
  func noteUse(of account: Account) {
    guard configuration.options.door.fingerFor > 0 || policy.needsFinger, let now = try? clock.now() else {
      return
    }
    NotedTime(.use, account.uid, configuration.access).set(at: now)
  }
}

extension DirectLogin {
  /// Whether the password must be proven before the passcode opens anything again.
  var isPasswordDue: Bool {
    get throws(Fault) {
      // Without the finger the passcode can't come first.
      if vault.policy.needsFinger, try isFingerDue { return true }
      return try isOver(vault.policy.passwordEvery, since: .proof)
    }
  }

  /// Whether passcode or password must be used before a finger is taken again.
  var isFingerDue: Bool {
    get throws(Fault) { try isOver(vault.configuration.options.door.fingerFor, since: .use) }
  }

  /// - Parameter limit: seconds; 0: none.
  private func isOver(_ limit: UInt64, since event: NotedTime.Event) throws(Fault) -> Bool {
    guard limit > 0 else { return false }
    return !NotedTime(event, account.uid, vault.configuration.access).isWithin(
      limit, of: try vault.clock.now())
  }
}

/// The wrong passcode that was typed last: typing it again doesn't count again, as on phones.
///
///     /run/passcode/<uid>, 40 bytes:
///     offset 0    time      8 bytes    CLOCK_BOOTTIME in milliseconds, little-endian
///     offset 8    digest   32 bytes    keyed BLAKE2b under the key for digests, of label, uid, salt, code
///
/// MUST (attempt):
/// 11  Typing the same wrong passcode again is `wrong` without a charge or a hash, for 5 minutes of CLOCK_BOOTTIME, while any
///     failure counts. It is asked only after the lockout was decided. What is kept is a keyed digest in the runtime
///     directory, bound to the credential's salt, so it is stale when the credential changes. If it is absent, damaged or
///     can't be written, the attempt simply counts. Only with `/etc/security/passcode.conf`: a test store leaves nothing in
///     the runtime directory.                                                                    test_repeated.py
struct LastWrong {
  private static let validFor: UInt64 = 300_000
  private static let length = 8 + Length.hash

  private let file: Bytes
  private let digest: Bytes
  private let access: Access

  /// Where an account's last wrong passcode is kept, and what is kept of the one that was typed now; nil for a test store.
  init?(
    _ account: Account, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed,
    _ configuration: Configuration
  ) {
    guard configuration.isUsual else { return nil }
    unsealed.subkey.derive(.digests, from: unsealed.key)
    let uid = decimalDigits(UInt64(account.uid))
    let context = Bytes(text: "pam_passcode last wrong\n") + uid + Bytes(text: "\n")
    guard let digest = unsealed.digest.keyed(unsealed.subkey, context, unsealed.credential, passcode)
    else { return nil }
    file = uid
    self.digest = digest
    access = configuration.access
  }

  /// Whether the passcode repeats the last wrong one.
  func isRepeated(at now: Instant) -> Bool {
    guard let content = RunFolder.recent(file, LastWrong.length, within: LastWrong.validFor, of: now)
    else { return false }
    return equalInConstantTime(Bytes(content[8...]), digest)
  }

  /// Keeps the passcode as the last wrong one.
  func remember(at now: Instant) {
    // Where that can't be written, it counts again; nobody is let in by that.
    try? RunFolder.openOrMake(file, access).write(littleEndian(now.milliseconds, 8) + digest, at: 0)
  }
}
