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
package func retrying<Number: SignedInteger>(_ call: () -> Number) throws(Errno) -> Number {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno(cs_errno())
    if error.code != EINTR { throw error }
  }
}

// How text, which is bytes everywhere else, goes to C and comes from there.

/// The bytes of a C string, without its NUL.
///
/// - Precondition: NUL-terminated.
@inline(never)
public func bytes(_ text: UnsafePointer<CChar>) -> [UInt8] {
  // SAFETY: strnlen stays within a NUL-terminated string.
  unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: cs_length(text, Int.max)))
}

/// The text and a NUL, as C wants it.
@inline(never)
public func withNUL(_ text: [UInt8]) -> [UInt8] {
  var text = text
  text.append(0)
  return text
}

/// The first `count` bytes of a string.
@inline(never)
package func shortened(_ bytes: [UInt8], to count: Int) -> [UInt8] {
  count == bytes.count ? bytes : [UInt8](bytes[..<count])
}

/// Lends bytes as a C string. A NUL inside would end it early: callers' paths and names have none
/// (the parser and `Record.canKeep` refuse control characters).
package func withCString<Value>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Value) -> Value {
  let terminated = withNUL(bytes)
  // SAFETY: the array lives through the call, ends in NUL, and UInt8 and CChar have one layout.
  return unsafe terminated.withUnsafeBufferPointer { buffer in
    unsafe buffer.withMemoryRebound(to: CChar.self) { text in
      guard let start = text.baseAddress else { preconditionFailure("an array with a NUL is not empty") }
      return unsafe body(start)
    }
  }
}

/// Translations by the C library's gettext: catalogues of the domain `libpam-passcode`, in /usr/share/locale or where the
/// build says. The locale of the process decides about the language. In the locale C no file is looked for.
public enum Catalogue {
  /// Looks up a translation for `Translation` of PasscodePolicy.
  ///
  /// - Precondition: both end in NUL.
  @inline(never)
  public static func translation(_ pattern: [UInt8], _ plural: [UInt8], _ number: UInt64) -> [UInt8]? {
    guard let found = unsafe cs_translation(pattern, plural, UInt(number)) else { return nil }
    // SAFETY: what is found is NUL-terminated, and is the C library's for as long as the process lives.
    return unsafe bytes(found)
  }
}
