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

  /// From here on the language of the environment, for a program before it has threads. A module never does this: the
  /// locale is its program's.
  public static func useLanguageOfEnvironment() {
    for name in ["LC_ALL", "LC_MESSAGES", "LANG"] as [StaticString] {
      guard let locale = environment(name), !locale.isEmpty else { continue }
      // C and C.UTF-8 are English: nothing needs to be loaded.
      let isEnglish = locale[0] == UInt8(ascii: "C") && (locale.count == 1 || locale[1] == UInt8(ascii: "."))
      return isEnglish ? () : cs_use_language(1)
    }
  }

  /// Sets the process's language to English.
  public static func useEnglish() {
    cs_use_language(0)
  }
}

extension Errno {
  /// `text` in the language of the locale.
  public var localText: [UInt8] {
    // SAFETY: a constant of the C library's, or what its catalogue has for it: NUL-terminated, and copied at once.
    unsafe bytes(cs_translated_error(code))
  }
}
