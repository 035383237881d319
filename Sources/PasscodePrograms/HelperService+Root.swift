internal import CSystem
public import PasscodeSystem

// What only programs that systemd starts as root do: the verifier, and those that the module asks.

extension HelperService {
  /// Leaves every supplementary group; for root. The corresponding C function is `setgroups`.
  public static func leaveGroups() throws(Errno) {
    let error = cs_leave_groups()
    if error != 0 { throw Errno(error) }
  }

  /// The next byte of the request, if it has come; doesn't wait. The corresponding C function is `recv`.
  public static func nextByte() -> UInt8? {
    var byte: UInt8 = 0
    return unsafe recv(0, &byte, 1, Int32(MSG_DONTWAIT)) == 1 ? byte : nil
  }

  /// Discards what has arrived: if it were still unread at the close, the other end would lose the reply, too.
  public static func dropInput() {
    var part = [UInt8](repeating: 0, count: 4_096)
    _ = unsafe recv(0, &part, part.count, Int32(MSG_DONTWAIT))
  }
}
