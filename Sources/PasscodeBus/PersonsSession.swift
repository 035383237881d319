internal import CBus
internal import PasscodePolicy
internal import PasscodeSystem

/// A person's session, as systemd-logind keeps it in /run/systemd, which is root's.
@safe struct PersonsSession {
  let id: Bytes

  /// The session that a process belongs to; nil: none. The corresponding C function is `sd_pid_get_session`.
  static func of(process: pid_t) -> PersonsSession? {
    unsafe PersonsSession { unsafe sd_pid_get_session(process, $0) }
  }

  /// The one with the person's screen, or else the one that logind prefers. The corresponding C function is
  /// `sd_uid_get_display`.
  static func display(of uid: UInt32) -> PersonsSession? {
    unsafe PersonsSession { unsafe sd_uid_get_display(uid, $0) }
  }

  private init?(_ find: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt) {
    var found: UnsafeMutablePointer<CChar>?
    guard unsafe find(&found) >= 0, let text = unsafe found else { return nil }
    // SAFETY: libsystemd allocated a NUL-terminated string, and gave it away (sd_pid_get_session(3)).
    id = unsafe bytes(text)
    unsafe free(text)
  }

  /// Whether it is this person's, in the foreground of its seat, and at this machine. The corresponding C functions are
  /// `sd_session_get_uid`, `sd_session_is_active` and `sd_session_is_remote`.
  func isActiveAndLocal(for uid: UInt32) -> Bool {
    unsafe lend(id) { id in
      var owner: uid_t = .max
      return unsafe sd_session_get_uid(id, &owner) >= 0 && owner == uid && sd_session_is_active(id) > 0
        && sd_session_is_remote(id) == 0
    }
  }
}

extension Caller {
  /// The id of the active, local session of the person whom the caller runs for: the caller's own, or the person's
  /// display session where it belongs to none (a user service); nil: there is none.
  public func activeLocalSession(of uid: UInt32) -> [UInt8]? {
    guard let session = PersonsSession.of(process: number) ?? PersonsSession.display(of: uid),
      session.isActiveAndLocal(for: uid)
    else { return nil }
    return session.id
  }
}
