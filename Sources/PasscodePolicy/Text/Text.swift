/// A sentence of ours, as bytes.
///
/// It is written like a String and isn't one: String's own comparison and Unicode tables are half the size of this module,
/// and a login program needs none of them.
public struct Text: Equatable, Sendable, ExpressibleByStringLiteral {
  public internal(set) var bytes: Bytes

  public init(_ bytes: Bytes) {
    self.bytes = bytes
  }

  @inline(never)
  public init(_ text: Literal) {
    bytes = Bytes(text: text)
  }

  @inline(__always)
  public init(stringLiteral text: StaticString) {
    self.init(Literal(stringLiteral: text))
  }

  public static func + (one: Text, two: Text) -> Text {
    Text(one.bytes + two.bytes)
  }
}

/// A log line: words of ours, then `key=value` pairs whose values came from outside and are escaped, so
/// that no user name, host or service can look like another field or another line.
public struct LogLine {
  public private(set) var text: Bytes

  /// - Parameter event: words of ours, such as `passcode granted`.
  public init(_ event: Text) {
    text = event.bytes
  }

  /// Adds ` key=value`; an empty or missing value is left out.
  @inline(never)
  public mutating func add(_ key: Literal, _ value: Bytes?) {
    guard let value, !value.isEmpty else { return }
    begin(key)
    text += escape(value, isSentence: false)
  }

  @inline(never)
  private mutating func begin(_ key: Literal) {
    text.append(byte: UInt8(ascii: " "))
    text.append(text: key)
    text.append(byte: UInt8(ascii: "="))
  }

  /// Adds ` key="sentence"`, for a fault's text: one line of ours, whose parts from outside are printable.
  public mutating func add(_ key: Literal, sentence: Bytes) {
    begin(key)
    text.append(byte: UInt8(ascii: "\""))
    for byte in sentence { text.append(byte: byte == UInt8(ascii: "\"") ? UInt8(ascii: "'") : byte) }
    text.append(byte: UInt8(ascii: "\""))
  }

  @inline(never)
  public mutating func add(_ key: Literal, _ value: UInt64) {
    add(key, decimalDigits(value))
  }
}

/// At most so much of a value from outside reaches the log.
private let longestValue = 128

/// For a value within a sentence: blanks and `=` stay as they are.
public func printable(_ value: Bytes) -> Bytes {
  escape(value, isSentence: true)
}

/// Blanks, quotes, backslashes, `=` and all but printable ASCII become `\xHH`; after 128 bytes it is cut, and ends in `...`.
@inline(never)
func escape(_ value: Bytes, isSentence: Bool) -> Bytes {
  let shown = min(value.count, longestValue)
  var text = Bytes(room: shown)
  for byte in value[0..<shown] {
    if isPlain(byte, isSentence) {
      text.append(byte: byte)
    } else {
      text.append(text: "\\x")
      text += hexadecimal([byte])
    }
  }
  if value.count > longestValue { text.append(text: "...") }
  return text
}

private func isPlain(_ byte: UInt8, _ isSentence: Bool) -> Bool {
  switch byte {
  case UInt8(ascii: " "), UInt8(ascii: "="): isSentence
  case UInt8(ascii: "\\"), UInt8(ascii: "\""): false
  default: byte > 0x20 && byte < 0x7f
  }
}

/// A sentence for people: its English pattern, and what stands in it. The same sentence can be told in English, for the
/// log and for JSON, and in a person's language.
///
/// A pattern is English as it stands in the sources; a translation is found by it. `%1` to `%9` are the parameters in
/// their order, and `%d` is the number. Where the number decides about the grammar, there is a plural, too, with the same
/// parameters. The translation itself is a parameter: nothing here calls the C library.
///
///     Sentence ── pattern, plural, number ──▶ Translation ──▶ its parameters checked ──▶ filled in
///                                                   └ a parameter missing, or foreign ──▶ the English
///
/// MUST (translations):
///  1  The log, JSON, option names and commands are English in every locale. With `--json` the tool's errors are, too.
///     test_the_log_is_in_english, test_json_is_the_same_in_every_language
///  2  A translation whose parameters differ from the English is not used; the English sentence is shown instead. Patterns
///     are filled in by our own code, never by printf. SentenceTests, test_a_translation_with_other_parameters_is_not_told
///  3  A command that can be run as it is never comes from a catalogue (`Advice`).              SentenceTests
///  4  Without a catalogue, in an unknown locale, in C and in C.UTF-8: English.
///     test_without_a_catalogue_it_is_english
///  5  A setuid program reads no catalogue that its caller names: glibc ignores LANGUAGE with a `/` there.
///     test_a_caller_s_own_catalogue_is_not_a_setuid_program_s
///  6  In the locale C no system call is made for it; in another one at most 12, once a process.
///     test_a_translated_login_makes_few_more_system_calls
///  7  What a catalogue lacks, or has as fuzzy, is told in English; before a release `Tests/messages --check` demands that
///     nothing is.       test_a_fuzzy_translation_is_told_in_english, test_what_a_catalogue_lacks_is_told
///
/// `Tests/messages` collects the patterns from the sources: literals where the type is `Sentence`, `Pattern` or `Phrase`.
public final class Sentence: Sendable, ExpressibleByStringLiteral {
  /// Ends in NUL, as C wants it; so does the plural, which is only that where no number decides.
  let pattern: Bytes
  let plural: Bytes
  let number: UInt64
  let parameters: [Bytes]

  @inline(__always)
  public convenience init(stringLiteral pattern: StaticString) {
    self.init(Pattern(stringLiteral: pattern))
  }

  @inline(never)
  public convenience init(_ pattern: Pattern) {
    self.init(pattern, plural: "")
  }

  /// - Parameter number: for `%d`.
  @inline(never)
  public convenience init(
    _ pattern: Pattern, plural: Pattern = "", _ number: UInt64 = 0, _ parameters: [Bytes] = []
  ) {
    self.init(Bytes(text: pattern), plural: Bytes(text: plural), number, parameters)
  }

  /// Where English never has one of it, and other languages may have as many plurals as they like.
  @inline(never)
  public convenience init(counted pattern: Pattern, _ number: UInt64, _ parameters: [Bytes] = []) {
    self.init(pattern, plural: pattern, number, parameters)
  }

  /// Makes a sentence of a pattern that isn't a literal.
  @inline(never)
  public init(_ pattern: Bytes, plural: Bytes, _ number: UInt64, _ parameters: [Bytes]) {
    (self.pattern, self.plural) = (terminated(pattern), terminated(plural))
    self.number = number
    self.parameters = parameters
  }

  /// The pattern of this sentence with another number and other parameters.
  public func with(_ number: UInt64, _ parameters: [Bytes]) -> Sentence {
    Sentence(pattern, plural: plural, number, parameters)
  }

  /// In the language that the translation is for; in English where there is none, or one that can't be filled in.
  @inline(never)
  public func text(in translation: Translation) -> Text {
    let english = filled((plural.count == 1 || number == 1 ? pattern : plural)[...], number, parameters)
    // To gettext, the empty string is the catalogue's own head.
    guard pattern.count > 1, let found = translation(pattern, plural, number) else { return english.text }
    let translated = filled(found[...], number, parameters)
    return translated.named == english.named ? translated.text : english.text
  }

  /// The translation into English: none is looked for.
  public static func inEnglish(_ pattern: Bytes, _ plural: Bytes, _ number: UInt64) -> Bytes? { nil }
}

@inline(never)
private func terminated(_ text: Bytes) -> Bytes {
  var text = text
  if text.last != 0 { text.append(byte: 0) }
  return text
}

/// The English of a sentence, which is what a translation is found by.
public typealias Pattern = Literal

/// Looks up a pattern with its plural (or none) and the number that decides; both end in NUL. nil: no translation.
public typealias Translation = (_ pattern: Bytes, _ plural: Bytes, _ number: UInt64) -> Bytes?

/// A pattern with its parameters: `%d` stands for the number, `%1` to `%9` for what is at that place; for one that isn't
/// there nothing does. NUL is left out.
///
/// - Returns: also which parameters it names, a bit each. A `%` before anything else counts as one that no pattern has.
@inline(never)
func filled(
  _ pattern: ArraySlice<UInt8>, _ number: UInt64, _ parameters: [Bytes]
) -> (text: Text, named: UInt32) {
  var text = Bytes()
  var named: UInt32 = 0
  var isParameter = false
  for byte in pattern {
    if isParameter {
      let index = Int(byte) - Int(UInt8(ascii: "1"))
      if byte == UInt8(ascii: "d") {
        named |= 1 << 30
        text += decimalDigits(number)
      } else {
        named |= 1 << UInt32((0..<9).contains(index) ? index : 31)
        if parameters.indices.contains(index) { text += parameters[index] }
      }
      isParameter = false
    } else if byte == UInt8(ascii: "%") {
      isParameter = true
    } else if byte != 0 {
      text.append(byte: byte)
    }
  }
  return (Text(text), isParameter ? named | 1 << 31 : named)
}
