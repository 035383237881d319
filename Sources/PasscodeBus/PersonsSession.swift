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
    let (id, result) = unsafe text(find)
    guard let id else { return result == -ENODATA ? .none : .unknown }
    return .session(PersonsSession(id: id))
  }

  private static func text(
    _ find: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt
  ) -> (text: Bytes?, result: CInt) {
    var found: UnsafeMutablePointer<CChar>?
    let result = unsafe find(&found)
    guard result >= 0, let text = unsafe found else { return (nil, result) }
    defer { unsafe free(text) }
    // SAFETY: libsystemd allocated a NUL-terminated string, and gave it away (sd_pid_get_session(3)).
    return unsafe (bytes(text), result)
  }

  /// Whether it is a person's, in the foreground of its seat, and at this machine. logind calls a session without a seat
  /// active and not remote: those of xrdp, and a unit's with `PAMName=login`. The corresponding C functions are
  /// `sd_session_get_seat`, `sd_session_get_class`, `sd_session_is_active`, `sd_session_is_remote` and
  /// `sd_session_get_uid`.
  ///
  /// - Parameter uid: nil: whosever it is.
  func isActiveAndLocal(for uid: UInt32?) -> Bool {
    unsafe lend(id) { id in
      var owner: uid_t = .max
      guard unsafe sd_session_get_uid(id, &owner) >= 0, uid == nil || owner == uid else { return false }
      guard let seat = unsafe PersonsSession.text({ unsafe sd_session_get_seat(id, $0) }).text, !seat.isEmpty,
        let kind = unsafe PersonsSession.text({ unsafe sd_session_get_class(id, $0) }).text
      else { return false }
      // "user", or since systemd 256 "user-early" (root's), "user-light" and the like.
      guard kind[...].begins(with: "user") else { return false }
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
