internal import CSystem

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
