internal import CBus
internal import PasscodePolicy
internal import PasscodeSystem

/// A session, as systemd-logind keeps it in /run/systemd, which is root's.
@safe struct PersonsSession {
  let id: Bytes

  enum Found {
    case session(PersonsSession)
    case none
    case unknown
  }

  /// The session that a process belongs to. The corresponding C function is `sd_pid_get_session`.
  static func of(process: pid_t) -> Found {
    unsafe find { unsafe sd_pid_get_session(process, $0) }
  }

  /// The one with the person's screen, or else the one that logind prefers. The corresponding C function is
  /// `sd_uid_get_display`.
  static func display(of uid: UInt32) -> Found {
    unsafe find { unsafe sd_uid_get_display(uid, $0) }
  }

  private static func find(
    _ find: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt
  ) -> Found {
    var found: UnsafeMutablePointer<CChar>?
    let result = unsafe find(&found)
    guard result >= 0, let text = unsafe found else { return result == -ENODATA ? .none : .unknown }
    // SAFETY: libsystemd allocated a NUL-terminated string, and gave it away (sd_pid_get_session(3)).
    let id = unsafe bytes(text)
    unsafe free(text)
    return .session(PersonsSession(id: id))
  }

  /// Whether it is in the foreground of its seat, and at this machine. The corresponding C functions are
  /// `sd_session_is_active`, `sd_session_is_remote` and `sd_session_get_uid`.
  ///
  /// - Parameter uid: nil: whosever it is.
  func isActiveAndLocal(for uid: UInt32?) -> Bool {
    unsafe lend(id) { id in
      var owner: uid_t = .max
      guard unsafe sd_session_get_uid(id, &owner) >= 0, uid == nil || owner == uid else { return false }
      return unsafe sd_session_is_active(id) > 0 && sd_session_is_remote(id) == 0
    }
  }
}

extension Caller {
  /// Where somebody is, as far as logind's files tell.
  public enum Presence {
    /// In this session, which is active and at this machine; it may be locked.
    case inSession(id: [UInt8])
    /// The caller belongs to no session.
    case noSession
    case absent
  }

  /// - Parameter uid: the person whom the caller runs for: their session, and where the caller belongs to none (a user
  ///   service), their display session; nil: it runs for the machine.
  public func presence(of uid: UInt32?) -> Presence {
    var found = PersonsSession.of(process: number)
    if let uid, case .none = found { found = PersonsSession.display(of: uid) }
    switch found {
    case .session(let session):
      return session.isActiveAndLocal(for: uid) ? .inSession(id: session.id) : .absent
    case .none: return uid == nil ? .noSession : .absent
    case .unknown: return .absent
    }
  }
}
