internal import CBus
public import PasscodePolicy
internal import PasscodeSystem

/// A session, as systemd-logind keeps it in /run/systemd, which is root's.
@safe struct LogindSession {
  let id: Bytes

  enum Found {
    case session(LogindSession)
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

  /// The one whose screen is seen on the machine's first seat. The corresponding C function is `sd_seat_get_active`.
  static var seen: Found {
    unsafe lend(Bytes(text: "seat0")) { seat in unsafe find { unsafe sd_seat_get_active(seat, $0, nil) } }
  }

  private static func find(
    _ find: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt
  ) -> Found {
    let (id, result) = unsafe text(find)
    guard let id else { return result == -ENODATA ? .none : .unknown }
    return .session(LogindSession(id: id))
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

  /// Whether the session is in the foreground of its seat, and at this machine. logind calls a session without a seat
  /// active and not remote: those of xrdp, and a unit's with `PAMName=login`. The corresponding C functions are
  /// `sd_session_get_seat`, `sd_session_is_active` and `sd_session_is_remote`.
  var isActiveAndLocal: Bool {
    unsafe lend(id) { id in
      guard let seat = unsafe LogindSession.text({ unsafe sd_session_get_seat(id, $0) }).text, !seat.isEmpty
      else { return false }
      return unsafe sd_session_is_active(id) > 0 && sd_session_is_remote(id) == 0
    }
  }

  /// Whether the session is a person's, and not a login screen's. The corresponding C functions are `sd_session_get_uid`
  /// and `sd_session_get_class`.
  ///
  /// - Parameter uid: nil: whosever it is.
  func isPersons(_ uid: UInt32?) -> Bool {
    let owner = unsafe lend(id) { id -> uid_t? in
      var owner: uid_t = .max
      return unsafe sd_session_get_uid(id, &owner) >= 0 ? owner : nil
    }
    guard let owner, uid == nil || owner == uid, let kind else { return false }
    // "user", or since systemd 256 "user-early" (root's), "user-light" and the like.
    return kind[...].begins(with: "user")
  }

  var isLoginScreens: Bool { kind?.spells("greeter") ?? false }

  private var kind: Bytes? {
    unsafe lend(id) { id in unsafe LogindSession.text { unsafe sd_session_get_class(id, $0) }.text }
  }

  /// The session's X display. The corresponding C function is `sd_session_get_display`.
  var display: FingerRequest.Terminal {
    let name = unsafe lend(id) { id in
      unsafe LogindSession.text { unsafe sd_session_get_display(id, $0) }.text
    }
    return name.map { FingerRequest.Terminal(named: $0) } ?? .other
  }
}

/// The session whose screen is seen on the machine's first seat, "seat0".
public enum SeenSession {
  /// The id of the session that shows the prompt; nil if there is none, or nothing tells.
  ///
  /// - Parameters:
  ///   - terminal: where the prompt is: on the session's display, or on a login screen that names none.
  ///   - uid: whose prompt it is. The session must be a login screen's or that person's own.
  public static func find(at terminal: FingerRequest.Terminal, of uid: UInt32) -> [UInt8]? {
    guard terminal != .other, case .session(let session) = LogindSession.seen, session.isActiveAndLocal
    else { return nil }
    let isIt =
      if terminal == .loginScreen {
        session.isLoginScreens
      } else {
        session.display == terminal && (session.isLoginScreens || session.isPersons(uid))
      }
    return isIt ? session.id : nil
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
    var found = LogindSession.of(process: number)
    if let uid, case .none = found { found = LogindSession.display(of: uid) }
    switch found {
    case .session(let session):
      return session.isActiveAndLocal && session.isPersons(uid) ? .inSession(id: session.id) : .absent
    case .none: return uid == nil ? .noSession : .absent
    case .unknown: return .absent
    }
  }
}
