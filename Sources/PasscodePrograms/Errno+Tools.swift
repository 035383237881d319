internal import CSystem
public import PasscodeSystem

// What only the tools and the servers tell apart.

extension Errno {
  /// What the last failed call of this thread left.
  static var last: Errno { Errno(cs_errno()) }

  public static let noMemory = Errno(ENOMEM)
  public static let invalid = Errno(EINVAL)
  public static let readOnly = Errno(EROFS)
  public static let stale = Errno(ESTALE)
  public static let timedOut = Errno(ETIMEDOUT)
  public static let reset = Errno(ECONNRESET)
  public static let badMessage = Errno(EBADMSG)
  public static let noSpace = Errno(ENOSPC)
  public static let noTerminal = Errno(ENOTTY)
  public static let notSocket = Errno(ENOTSOCK)
}
