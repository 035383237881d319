internal import CSystem

/// A failed system call's error number.
public struct Errno: Error, Equatable, Sendable {
  public let code: Int32

  public init(_ code: Int32) {
    self.code = code
  }

  /// What the last failed call of this thread left.
  static var last: Errno { Errno(cs_errno()) }

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
  public static let wouldBlock = Errno(EWOULDBLOCK)
  public static let noTerminal = Errno(ENOTTY)
}

/// Calls until it isn't interrupted by a signal; -1 becomes a typed error.
@discardableResult
func retrying<Number: SignedInteger>(_ call: () -> Number) throws(Errno) -> Number {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.last
    if error.code != EINTR { throw error }
  }
}

/// Lends bytes as a C string. A NUL inside would end it early: callers' paths and names have none
/// (the parser and `Record.canKeep` refuse control characters).
func withCString<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
  let terminated = bytes + [0]
  // SAFETY: the array lives through the call, ends in NUL, and UInt8 and CChar have one layout.
  return unsafe terminated.withUnsafeBufferPointer { buffer in
    unsafe buffer.withMemoryRebound(to: CChar.self) { text in
      guard let start = text.baseAddress else { preconditionFailure("an array with a NUL is not empty") }
      return unsafe body(start)
    }
  }
}

/// The bytes of a literal of ours.
@inline(never)
func literal(_ text: StaticString) -> [UInt8] {
  // SAFETY: a StaticString's bytes live for ever.
  unsafe UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).map { $0 }
}
