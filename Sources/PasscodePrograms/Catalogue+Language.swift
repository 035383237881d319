internal import CSystem
public import PasscodeSystem

// The language of a program of ours. A module leaves it to its host.

extension Catalogue {
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
