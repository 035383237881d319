internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// Choosing a passcode: asked twice, in at most three rounds, or made up; one place for enrolment and change.
final class PasscodeChoice {
  private static let rounds = 3

  private let session: Session
  private let vault: Vault
  private let account: Account
  private var asker: Asker { session.asker }
  private let lengths: Options.Lengths
  /// The only length that is allowed, if `--length` names one.
  private let length: Int?

  init(_ session: Session, _ vault: Vault, _ account: Account) throws(Failure) {
    self.session = session
    self.vault = vault
    self.account = account
    lengths = vault.configuration.options.policy.lengths
    length = session.length
    if let length, !lengths.allow(length) {
      throw .lengthNotAllowed(length)
    }
  }

  /// Completes the change by a new passcode: as it is typed, or with `--generate` made up.
  func choose(_ line: inout TypedLine, _ change: inout PasscodeChange) throws(Failure) {
    if session.generates { try generate(&change) } else { try ask(&line, &change) }
  }

  /// Says that it is set; one that was made up is told: the one secret that leaves.
  func announce(_ new: borrowing NewPasscode) throws(Failure) -> ExitStatus {
    guard session.generates else {
      session.say(.enrolled, account)
      session.hintAtStacks()
      return .done
    }
    guard Stream.output.writeLine(new.passcode) else { throw .unwritablePasscode }
    session.hintAtStacks()
    return .done
  }

  private func ask(_ line: inout TypedLine, _ change: inout PasscodeChange) throws(Failure) {
    var problem = lengthProblem
    for _ in 0..<PasscodeChoice.rounds {
      if let found = try problemOfOneRound(&line, &change) { problem = found } else { return }
      guard asker.isPatient else { break }
      asker.tell(problem.text)
    }
    throw asker.isPatient ? .noneChosen : .badChoice(problem)
  }

  /// Makes one up: uniformly random among those that aren't weak.
  private func generate(_ change: inout PasscodeChange) throws(Failure) {
    let sodium = try startSodium()
    let digits = length ?? (lengths.six ? 6 : 4)
    // One in eight is weak at most: a hundred in a row don't happen.
    for _ in 0..<100 {
      if change.new.passcode.makeUp(digits: digits, sodium), try judge(change) == .accepted { return }
    }
    throw .noRandomPasscode
  }

  private func judge(_ change: borrowing PasscodeChange) throws(Failure) -> Choice {
    do throws(Fault) { return try vault.judge(account, change) } catch { throw .fault(error) }
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
  }
}

/// Lengths that a new passcode may have.
enum Digits {
  case four, six, fourOrSix
}
