internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What the tool tells people, in their language: a literal here is a message of the catalogues, and `\(…)` its parameters
/// in their order, %1 to %9. A `Text` isn't translated: names, options, JSON, the log.
///
///     "\(name): no passcode is set"      ──▶ "%1: no passcode is set"
///     Phrase(count, one: "\(count) user", other: "\(count) users")
///
/// The locale decides when the phrase is made. With `--json` the tool stays in the locale C: then everything is English.
struct Phrase: ExpressibleByStringInterpolation {
  let text: Text

  /// What is in the right language, or in none.
  init(_ text: Text) {
    self.text = text
  }

  @inline(never)
  init(_ sentence: Sentence) {
    text = sentence.text(in: Catalogue.translation)
  }

  @inline(never)
  init(stringLiteral text: String) {
    self.init(Sentence(text))
  }

  @inline(never)
  init(stringInterpolation parts: Interpolation) {
    self.init(Sentence(parts.pattern, plural: [], 0, parts.parameters))
  }

  /// What depends on a number: both have the same parameters, which are taken from the second.
  @inline(never)
  init(_ number: UInt64, one: Counted, other: Counted) {
    self.init(Sentence(one.parts.pattern, plural: other.parts.pattern, number, other.parts.parameters))
  }

  /// A phrase with a number for which English has no singular.
  init(_ number: UInt64, counted: Counted) {
    self.init(number, one: counted, other: counted)
  }

  /// A part of a phrase, which isn't translated by itself.
  struct Counted: ExpressibleByStringInterpolation {
    fileprivate let parts: Interpolation

    init(stringLiteral text: String) {
      parts = Interpolation(literalCapacity: 0, interpolationCount: 0)
      parts.appendLiteral(text)
    }

    init(stringInterpolation parts: Interpolation) {
      self.parts = parts
    }
  }

  /// The pattern as it grows, and the parameters; nine at most. A class: one reference wherever a phrase is made.
  final class Interpolation: StringInterpolationProtocol {
    fileprivate var pattern = Bytes()
    fileprivate var parameters: [Bytes] = []

    @inline(never)
    init(literalCapacity: Int, interpolationCount: Int) {}

    @inline(never)
    func appendLiteral(_ text: String) {
      pattern += Bytes(text: text)
    }

    @inline(never)
    func appendInterpolation(_ bytes: Bytes) {
      parameters.append(bytes)
      pattern += [UInt8(ascii: "%"), UInt8(ascii: "0") + UInt8(parameters.count)]
    }

    @_disfavoredOverload
    func appendInterpolation(_ text: Text) {
      appendInterpolation(text.bytes)
    }

    func appendInterpolation(_ phrase: Phrase) {
      appendInterpolation(phrase.text.bytes)
    }

    @inline(never)
    func appendInterpolation(_ number: UInt64) {
      appendInterpolation(decimalDigits(number))
    }

    func appendInterpolation(_ number: UInt32) {
      appendInterpolation(UInt64(number))
    }

    /// - Precondition: not negative (it counts something).
    func appendInterpolation(_ number: Int) {
      appendInterpolation(UInt64(max(0, number)))
    }
  }
}

// MARK: - Where a text can stand

extension Text.Interpolation {
  @_disfavoredOverload
  mutating func appendInterpolation(_ phrase: Phrase) {
    appendInterpolation(phrase.text)
  }
}

extension Text {
  @_disfavoredOverload
  static func += (text: inout Text, more: Phrase) {
    text += more.text
  }
}

@_disfavoredOverload
func complain(_ phrase: Phrase) {
  complain(phrase.text)
}

@_disfavoredOverload
func printLine(_ phrase: Phrase) {
  printLine(phrase.text)
}

extension Stream {
  @_disfavoredOverload @discardableResult
  func write(_ phrase: Phrase) -> Bool {
    write(phrase.text)
  }
}

extension Asker {
  @_disfavoredOverload
  func tell(_ phrase: Phrase) {
    tell(phrase.text)
  }
}

// MARK: - Faults and advice

extension Advice {
  /// Sentence and command in one line.
  var phrase: Phrase {
    // Translators: what is wrong, and a command that corrects it.
    command.bytes.isEmpty ? Phrase(sentence) : "\(sentence); run: \(command)"
  }
}

extension Verdict {
  /// What is told at the prompt; nil: nothing.
  var told: Phrase? { notice.map { Phrase($0) } }
}
