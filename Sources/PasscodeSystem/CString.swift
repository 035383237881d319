internal import CSystem

// Text is bytes everywhere but here, where it goes to C and comes from there.

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
func shortened(_ bytes: [UInt8], to count: Int) -> [UInt8] {
  count == bytes.count ? bytes : [UInt8](bytes[..<count])
}

/// Lends bytes as a C string. A NUL inside would end it early: callers' paths and names have none
/// (the parser and `Record.canKeep` refuse control characters).
func withCString<Value>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Value) -> Value {
  let terminated = withNUL(bytes)
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
  unsafe [UInt8](UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
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
