public import PasscodePolicy

/// Asks systemd-logind whether a session's screen is locked. Everything else about a session is in its file in /run,
/// which sd-login reads; LockedHint is told on the bus alone.
///
///     org.freedesktop.DBus               GetNameOwner, GetConnectionUnixUser     as for fprintd: MUST be root's
///     that connection …login1.Manager    GetSession                              the session's object
///                     Properties         Get LockedHint
///
/// - Any other answer than "not locked", from that connection, MUST count as locked.  SessionDialogTests
///
/// The corresponding manual page is org.freedesktop.login1(5).
public struct SessionDialog {
  public enum Step: Equatable, Sendable {
    case nothing
    case call(BusCall)
    case unlocked
    case refused
  }

  private enum State {
    case owner, user, session, hint, over
  }

  private let session: Bytes
  private var state = State.owner
  private var owner = Bytes()
  /// The serial of the call whose answer is awaited.
  private var serial: UInt64?

  /// - Parameter session: its id.
  public init(_ session: Bytes) {
    self.session = session
  }

  public var first: BusCall { .driver("GetNameOwner", [.text(Bytes(text: SessionDialog.service))]) }

  /// - Precondition: is called for each call that was sent, before the next message.
  public mutating func sent(serial: UInt64) {
    self.serial = serial
  }

  public mutating func receive(_ message: BusMessage) -> Step {
    switch message.kind {
    case .methodReturn(let serial) where serial == self.serial: return answered(message)
    case .error(let serial, _) where serial == self.serial: return end(.refused)
    case .methodReturn, .error, .signal, .other: return .nothing
    }
  }

  private mutating func answered(_ message: BusMessage) -> Step {
    switch state {
    case .owner:
      guard let owner = message.uniqueName else { return end(.refused) }
      self.owner = owner
      return then(.user, .driver("GetConnectionUnixUser", [.text(owner)]))
    case .user:
      guard message.isRootsUser else { return end(.refused) }
      return then(.session, call("/org/freedesktop/login1", SessionDialog.manager, "GetSession", session))
    case .session:
      guard message.sender == owner, let path = message.text else { return end(.refused) }
      return then(.hint, hint(path))
    case .hint: return end(message.sender == owner && message.values == [.flag(false)] ? .unlocked : .refused)
    case .over: return .nothing
    }
  }

  private mutating func end(_ step: Step) -> Step {
    state = .over
    return step
  }

  private mutating func then(_ next: State, _ call: BusCall) -> Step {
    state = next
    return .call(call)
  }

  private static var service: Literal { "org.freedesktop.login1" }
  private static var manager: Literal { "org.freedesktop.login1.Manager" }

  private func call(_ path: Literal, _ interface: Literal, _ member: Literal, _ value: Bytes) -> BusCall {
    BusCall(owner, Bytes(text: path), interface, member, [.text(value)])
  }

  private func hint(_ path: Bytes) -> BusCall {
    BusCall(
      owner, path, "org.freedesktop.DBus.Properties", "Get",
      [.text(Bytes(text: "org.freedesktop.login1.Session")), .text(Bytes(text: "LockedHint"))])
  }
}
