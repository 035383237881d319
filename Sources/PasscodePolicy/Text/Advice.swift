/// A sentence that says what is wrong, and a command that corrects it.
///
/// Names and paths can be an attacker's: a file in the store, the name in a record. The pattern is therefore split at
/// "; run: " before they are filled in, and a command is given only if each of its parameters is plain: then a shell
/// takes it for one word that is no option. A command is never shortened, escaped or translated.
///                                                                                 AdviceTests, test_check.py
public struct Advice: Equatable, Sendable {
  public let sentence: Text
  /// A command that can be run as it is; empty where there is none.
  public let command: Text

  /// - Parameters:
  ///   - whole: the sentence with `%1`, `%2`, `%3` and `%d`, for which it has what is printable, and after "; run: " the
  ///     command with these, which is the same in the plural.
  ///   - exact: what stands for `%1`, `%2` and `%3` in the command.
  ///   - translation: of the sentence; the command is what it is.
  @inline(never)
  public init(_ whole: Sentence, exact: [Bytes], in translation: Translation) {
    let (told, remedy) = Advice.parts(whole.pattern)
    sentence = Sentence(told, plural: Advice.parts(whole.plural).told, whole.number, whole.parameters)
      .text(in: translation)
    let filled = filled(remedy, whole.number, exact)
    let isSafe = exact.indices.allSatisfy { filled.named >> UInt32($0) & 1 == 0 || isPlain(exact[$0]) }
    command = isSafe ? filled.text : ""
  }

  /// Splits a pattern into what is told and the command after it, which may be empty.
  @inline(never)
  private static func parts(_ pattern: Bytes) -> (told: Bytes, command: ArraySlice<UInt8>) {
    let place = pattern.indices.first { pattern[$0...].begins(with: mark) } ?? pattern.endIndex
    return (Bytes(pattern[..<place]), pattern[min(place + mark.count, pattern.endIndex)...])
  }

  /// Sentence and command in one line, joined in English.
  public var text: Text {
    command.bytes.isEmpty ? sentence : sentence + Text(Advice.mark) + command
  }

  private static var mark: Literal { "; run: " }
}

/// Whether a command can take this as a word of its own: letters, digits and `/._-`, and not like an option. At most 128
/// bytes: what the helper tells may be cut after that.
public func isPlain(_ word: Bytes) -> Bool {
  guard let first = word.first, first != UInt8(ascii: "-"), word.count <= 128 else { return false }
  return word.allSatisfy { isWordByte($0, or: "/._-") }
}
