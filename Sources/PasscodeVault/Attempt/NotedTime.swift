public import PasscodePolicy
public import PasscodeSystem

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
