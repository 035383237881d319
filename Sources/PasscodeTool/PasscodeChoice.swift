public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
internal import PasscodeVault

/// Choosing a passcode: asked twice, in at most three rounds, or made up; one place for enrolment and change.
public final class PasscodeChoice {
  private static let rounds = 3

  private let asker: Asker
  private let lengths: Options.Lengths
  /// The only length that is allowed, if `--length` names one.
  private let length: Int?
  private let sodium: Sodium
  private let judgement: (borrowing PasscodeChange) throws(Fault) -> Choice

  /// - Parameter judge: says whether it may be chosen.
  public init(
    _ asker: Asker, _ lengths: Options.Lengths, length: Int?, _ sodium: Sodium,
    judge: @escaping (borrowing PasscodeChange) throws(Fault) -> Choice
  ) throws(Failure) {
    self.asker = asker
    self.lengths = lengths
    self.length = length
    self.sodium = sodium
    judgement = judge
    if let length, !lengths.allow(length) { throw .lengthNotAllowed(length) }
  }

  /// Completes the change by a new passcode: as it is typed, or made up.
  public func choose(
    _ line: inout TypedLine, _ change: inout PasscodeChange, generates: Bool
  ) throws(Failure) {
    if generates { try generate(&change) } else { try ask(&line, &change) }
  }

  private func ask(_ line: inout TypedLine, _ change: inout PasscodeChange) throws(Failure) {
    var problem = lengthProblem
    for _ in 0..<PasscodeChoice.rounds {
      if let found = try problemOfOneRound(&line, &change) { problem = found } else { return }
      guard asker.isPatient else { break }
      asker.tell(problem.text)
    }
    throw asker.isPatient ? .noneChosen : Failure(.refused, problem.text)
  }

  /// Makes one up: uniformly random among those that aren't weak.
  private func generate(_ change: inout PasscodeChange) throws(Failure) {
    let digits = length ?? (lengths.six ? 6 : 4)
    // One in eight is weak at most: a hundred in a row don't happen.
    for _ in 0..<100 {
      if change.new.passcode.makeUp(digits: digits, sodium), try judge(change) == .accepted { return }
    }
    throw .noRandomPasscode
  }

  private func judge(_ change: borrowing PasscodeChange) throws(Failure) -> Choice {
    do throws(Fault) { return try judgement(change) } catch { throw .fault(error) }
  }

  /// Asks for a passcode once; returns what is wrong with it, or nil.
  private func problemOfOneRound(
    _ line: inout TypedLine, _ change: inout PasscodeChange
  ) throws(Failure) -> Problem? {
    guard try asker.askPasscode(.newPasscode(digits), &line, &change.new.passcode) == .passcode,
      length == nil || change.new.passcode.count == length
    else { return lengthProblem }
    switch try judge(change) {
    case .accepted: break
    case .easy(let weakness): asker.tell(.easyPasscode(weakness))
    case .refused(.length): return lengthProblem
    case .refused(.weak(let weakness)): return .weak(weakness)
    }
    guard asker.isPatient else { return nil }
    return try problemOfRepetition(&line, change.new)
  }

  private var lengthProblem: Problem { .length(digits) }

  private func problemOfRepetition(
    _ line: inout TypedLine, _ new: borrowing NewPasscode
  ) throws(Failure) -> Problem? {
    defer { line.wipe() }
    guard try asker.askLine(.repetition, &line), new.passcode.isRepeated(in: line)
    else { return .mismatch }
    return nil
  }

  private var digits: Digits {
    if let length { return length == 4 ? .four : .six }
    if lengths.four && lengths.six { return .fourOrSix }
    return lengths.four ? .four : .six
  }

  /// Why what was typed is not chosen.
  enum Problem {
    case length(Digits)
    case weak(Weakness)
    case mismatch

    /// The failure as one sentence.
    var text: Phrase {
      switch self {
      case .length(.four): "A passcode is 4 digits."
      case .length(.six): "A passcode is 6 digits."
      case .length(.fourOrSix): "A passcode is 4 or 6 digits."
      case .weak(let weakness): "Too easy to guess: \(Phrase(weakness.sentence)). Choose another one."
      case .mismatch: "The passcodes do not match. Start again."
      }
    }
  }
}

/// Lengths that a new passcode may have.
enum Digits {
  case four, six, fourOrSix
}

extension Phrase {
  fileprivate static func newPasscode(_ digits: Digits) -> Phrase {
    switch digits {
    case .four: "New passcode (4 digits): "
    case .six: "New passcode (6 digits): "
    case .fourOrSix: "New passcode (4 or 6 digits): "
    }
  }

  fileprivate static var repetition: Phrase { "Repeat new passcode: " }

  fileprivate static func easyPasscode(_ weakness: Weakness) -> Phrase {
    "Easy to guess: \(Phrase(weakness.sentence))."
  }
}

extension Failure {
  fileprivate static var noneChosen: Failure { Failure(.refused, "no passcode was set") }

  fileprivate static func lengthNotAllowed(_ length: Int) -> Failure {
    Failure(.refused, "the configuration (lengths) doesn't allow passcodes of \(length) digits")
  }
}
