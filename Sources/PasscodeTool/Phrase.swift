public import PasscodePolicy
internal import PasscodeSystem

/// What the administrators' tools tell people, in their language: a literal here is a message of the catalogues, and `\(…)`
/// its parameters in their order, %1 to %9. A `Text` isn't translated: names, options, JSON, the log.
///
///     "\(name): no passcode is set"      ──▶ "%1: no passcode is set"
///     Phrase(count, one: "\(count) user", other: "\(count) users")
///
/// The locale decides when the phrase is made. With `--json` the tool stays in the locale C: then everything is English.
public struct Phrase: ExpressibleByStringInterpolation, Sendable {
  public let text: Text

  /// What is in the right language, or in none.
  public init(_ text: Text) {
    self.text = text
  }

  @inline(never)
  public init(_ sentence: Sentence) {
    text = sentence.text(in: Catalogue.translation)
  }

  @inline(__always)
  public init(stringLiteral text: StaticString) {
    self.init(Literal(stringLiteral: text))
  }

  @inline(never)
  private init(_ text: Literal) {
    self.init(Sentence(text))
  }

  @inline(never)
  public init(stringInterpolation parts: Interpolation) {
    self.init(Sentence(parts.pattern, plural: [], 0, parts.parameters))
  }

  /// What depends on a number: both have the same parameters, which are taken from the second.
  @inline(never)
  public init(_ number: UInt64, one: Counted, other: Counted) {
    self.init(Sentence(one.parts.pattern, plural: other.parts.pattern, number, other.parts.parameters))
  }

  /// A phrase with a number for which English has no singular.
  public init(_ number: UInt64, counted: Counted) {
    self.init(number, one: counted, other: counted)
  }

  /// A part of a phrase, which isn't translated by itself.
  public struct Counted: ExpressibleByStringInterpolation {
    fileprivate let parts: Interpolation

    public init(stringLiteral text: StaticString) {
      parts = Interpolation(literalCapacity: 0, interpolationCount: 0)
      parts.appendLiteral(text)
    }

    public init(stringInterpolation parts: Interpolation) {
      self.parts = parts
    }
  }

  /// The pattern as it grows, and the parameters; nine at most. A class: one reference wherever a phrase is made.
  public final class Interpolation: StringInterpolationProtocol {
    fileprivate var pattern = Bytes()
    fileprivate var parameters: [Bytes] = []

    @inline(never)
    public init(literalCapacity: Int, interpolationCount: Int) {}

    @inline(__always)
    public func appendLiteral(_ text: StaticString) {
      append(Literal(stringLiteral: text))
    }

    @inline(never)
    private func append(_ text: Literal) {
      pattern += Bytes(text: text)
    }

    @inline(never)
    public func appendInterpolation(_ bytes: Bytes) {
      parameters.append(bytes)
      pattern += [UInt8(ascii: "%"), UInt8(ascii: "0") + UInt8(parameters.count)]
    }

    @_disfavoredOverload
    public func appendInterpolation(_ text: Text) {
      appendInterpolation(text.bytes)
    }

    public func appendInterpolation(_ phrase: Phrase) {
      appendInterpolation(phrase.text.bytes)
    }

    @inline(never)
    public func appendInterpolation(_ number: UInt64) {
      appendInterpolation(decimalDigits(number))
    }

    public func appendInterpolation(_ number: UInt32) {
      appendInterpolation(UInt64(number))
    }

    /// - Precondition: not negative (it counts something).
    public func appendInterpolation(_ number: Int) {
      appendInterpolation(UInt64(max(0, number)))
    }
  }
}

// MARK: - Where a text can stand

extension Text.Interpolation {
  @_disfavoredOverload
  public mutating func appendInterpolation(_ phrase: Phrase) {
    appendInterpolation(phrase.text)
  }
}

extension Text {
  @_disfavoredOverload
  public static func += (text: inout Text, more: Phrase) {
    text += more.text
  }
}

// MARK: - Advice

extension Advice {
  /// Sentence and command in one line.
  public var phrase: Phrase {
    // Translators: what is wrong, and a command that corrects it.
    command.bytes.isEmpty ? Phrase(sentence) : "\(sentence); run: \(command)"
  }
}
