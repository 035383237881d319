/// A sentence that says what is wrong, and a command that corrects it.
///
/// Names and paths can be an attacker's: a file in the store, the name in a record. So the pattern is split at
/// "; run: " before they are filled in, and a command is given only if each of its parameters is plain: then a shell
/// takes it for one word that is no option. A command is never shortened or escaped.       AdviceTests, test_check.py
public struct Advice: Equatable, Sendable {
  public let sentence: Text
  /// Can be run as it is; empty: there is none.
  public let command: Text

  public init(_ sentence: Text) {
    self.sentence = sentence
    command = ""
  }

  /// - Parameters:
  ///   - pattern: the sentence, and after "; run: " the command, both with `%1`, `%2`, `%3` and `%d`.
  ///   - shown: what stands for them in the sentence: printable.
  ///   - exact: what stands for them in the command.
  @inline(never)
  public init(
    _ pattern: String, _ number: UInt64, shown: (Bytes, Bytes, Bytes), exact: (Bytes, Bytes, Bytes)
  ) {
    let pattern = Bytes(text: pattern)[...]
    let place = pattern.indices.first { pattern[$0...].begins(with: Advice.mark) } ?? pattern.endIndex
    sentence = Words.fill(pattern[..<place], number, shown.0, shown.1, shown.2)
    let remedy = pattern[min(place + Advice.mark.utf8.span.count, pattern.endIndex)...]
    let isSafe =
      (isPlain(exact.0) || !remedy.names(1)) && (isPlain(exact.1) || !remedy.names(2))
      && (isPlain(exact.2) || !remedy.names(3))
    command = isSafe ? Words.fill(remedy, number, exact.0, exact.1, exact.2) : ""
  }

  /// Both in one line.
  public var text: Text {
    command.bytes.isEmpty ? sentence : sentence + Text(stringLiteral: Advice.mark) + command
  }

  private static var mark: String { "; run: " }
}

extension ArraySlice<UInt8> {
  /// Whether `%1` and so on occurs.
  fileprivate func names(_ parameter: UInt8) -> Bool {
    indices.dropLast().contains {
      self[$0] == UInt8(ascii: "%") && self[$0 + 1] == UInt8(ascii: "0") + parameter
    }
  }
}

/// Whether a command can take this as a word of its own: letters, digits and `/._-`, and not like an option. At most 128
/// bytes: what the helper tells may be cut after that.
public func isPlain(_ word: Bytes) -> Bool {
  guard let first = word.first, first != UInt8(ascii: "-"), word.count <= 128 else { return false }
  return word.allSatisfy {
    switch $0 {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
