internal import CSystem

/// A failed system call's error number.
public struct Errno: Error, Equatable, Sendable {
  public let code: Int32

  public init(_ code: Int32) {
    self.code = code
  }

  /// The kernel's words: "No space left on device".
  @inline(never)
  public var text: [UInt8] {
    // SAFETY: cs_error_text returns a constant, NUL-terminated string for every number.
    unsafe bytes(cs_error_text(code))
  }

  public static let noEntry = Errno(ENOENT)
  public static let denied = Errno(EACCES)
  public static let exists = Errno(EEXIST)
  public static let symbolicLink = Errno(ELOOP)
  public static let notDirectory = Errno(ENOTDIR)
  public static let inputOutput = Errno(EIO)
  public static let wouldBlock = Errno(EWOULDBLOCK)
  public static let fileTooLarge = Errno(EFBIG)

  /// Whether the call could succeed another time: too much is open, or there is no memory (for locks: ENOLCK), space or
  /// quota left. Other people can bring that about, so no limit may lapse because of it.
  @inline(never)
  public var isShortage: Bool {
    switch code {
    case EMFILE, ENFILE, ENOMEM, ENOLCK, ENOSPC, EDQUOT: true
    default: false
    }
  }
}

/// Calls until it isn't interrupted by a signal; -1 becomes a typed error.
@discardableResult
func retrying<Number: SignedInteger>(_ call: () -> Number) throws(Errno) -> Number {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno(cs_errno())
    if error.code != EINTR { throw error }
  }
}
