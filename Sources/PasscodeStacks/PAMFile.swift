public import PasscodePolicy

/// A PAM service file, as libpam reads it: pam.conf(5), and Debian's `@include NAME`.
///
///   [-]TYPE CONTROL MODULE [ARGUMENT ...]     TYPE: auth, account, session or password, in any case
///   [-]TYPE include|substack NAME             the lines of that type of another file
///   [-]@include NAME                          all lines of another file; libpam refuses the service where that fails
///
/// `#` begins a comment, wherever it stands; a line that ends in `\` goes on in the next one that isn't empty (for libpam 1.7, in
/// the next one).
/// `[...]` is one word, in which `\]` stands for `]`. A line may have any length; libpam 1.5.2 breaks it after 1,023 bytes.
public struct PAMFile: Sendable {
  /// Bytes; a larger one isn't read.
  public static let largest = 65_536

  public let lines: [PAMLine]
  /// The number of the last line if it goes on, and nothing follows: libpam refuses the whole file.
  let cutLine: Int?

  /// - Precondition: at most `largest` bytes.
  public init(_ content: Bytes) {
    var lines: [PAMLine] = []
    // What the lines before have begun, and where that was.
    var begun = Bytes()
    var first = 0
    var (number, end) = (0, 0)
    for line in content[...].parts(between: UInt8(ascii: "\n")) {
      number += 1
      end += line.count + 1
      let text = line.prefix { $0 != UInt8(ascii: "#") }
      let isCommented = text.count < line.count
      let part = text.trimmed()
      if part.isEmpty { continue }
      if begun.isEmpty { first = number }
      let goesOn = part.last == UInt8(ascii: "\\") && !isCommented
      // What ends the line belongs to a bracketed word that nothing closes.
      begun += goesOn ? part.dropLast() + [UInt8(ascii: " ")] : text.drop(while: isBlank)
      if goesOn { continue }
      if !isCommented, end <= content.count { begun.append(byte: UInt8(ascii: "\n")) }
      lines.append(PAMLine(begun, number: first))
      begun = []
    }
    self.lines = lines
    cutLine = begun.isEmpty ? nil : first
  }
}

/// One line of a PAM file, joined with the lines that continue it.
public final class PAMLine: Sendable {
  public enum Kind: Equatable, Sendable {
    case auth, account, session, password
    /// `@include`
    case every
  }

  public enum Rule: Equatable, Sendable {
    case include(Bytes, isSubstack: Bool)
    case module(Bytes, PAMControl, arguments: [Bytes])
    /// libpam can't make sense of it: it asks no module, and goes on as after PAM_PERM_DENIED.
    case broken(PAMControl)
  }

  public let kind: Kind
  public let rule: Rule
  /// Whether libpam knows the line's type; what it includes is included all the same.
  let hasType: Bool
  /// The number of the line in its file, from 1.
  public let number: Int

  init(_ text: Bytes, number: Int) {
    self.number = number
    var words = PAMWords(text)
    var first = lowercased(words.next() ?? [])[...]
    if first.first == UInt8(ascii: "-") { first = first.dropFirst() }
    guard !first.spells("@include") else {
      kind = .every
      hasType = true
      rule = words.next().map { .include($0, isSubstack: false) } ?? .broken(.notUnderstood)
      return
    }
    let kind = PAMLine.kind(first)
    let rule = PAMLine.rule(&words)
    // As libpam has it: what has no type stands among the most important ones.
    self.kind = kind ?? .auth
    hasType = kind != nil
    if !hasType, case .module(_, let control, _) = rule {
      self.rule = .broken(control)
    } else {
      self.rule = rule
    }
  }

  private static func kind(_ word: ArraySlice<UInt8>) -> Kind? {
    if word.spells("auth") { return .auth }
    if word.spells("account") { return .account }
    if word.spells("session") { return .session }
    return word.spells("password") ? .password : nil
  }

  private static func rule(_ words: inout PAMWords) -> Rule {
    guard let control = words.next() else { return .broken(.notUnderstood) }
    guard let name = words.next() else { return .broken(PAMControl(control)) }
    let word = lowercased(control)
    if word.spells("include") { return .include(name, isSubstack: false) }
    if word.spells("substack") { return .include(name, isSubstack: true) }
    var arguments: [Bytes] = []
    while let argument = words.next() { arguments.append(argument) }
    return .module(name, PAMControl(control), arguments: arguments)
  }
}

/// The words of a line.
private struct PAMWords {
  private let text: Bytes
  private var index = 0

  init(_ text: Bytes) {
    self.text = text
  }

  /// The next word of the line; nil at its end.
  mutating func next() -> Bytes? {
    while index < text.count, isSpace(text[index]) { index += 1 }
    guard index < text.count else { return nil }
    let isBracketed = text[index] == UInt8(ascii: "[")
    if isBracketed { index += 1 }
    var word = Bytes()
    while index < text.count, !(isBracketed ? text[index] == UInt8(ascii: "]") : isSpace(text[index])) {
      if isBracketed, text[index...].begins(with: "\\]") { index += 1 }
      word.append(byte: text[index])
      index += 1
    }
    index += 1
    return word
  }

  private func isSpace(_ byte: UInt8) -> Bool { isBlank(byte) || byte == UInt8(ascii: "\n") }
}

/// ASCII letters only.
@inline(never)
func lowercased(_ text: Bytes) -> Bytes {
  text.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
}
