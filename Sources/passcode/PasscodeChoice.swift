internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Choosing a passcode: asked twice, in at most three rounds, or made up; one place for enrolment and change.
final class PasscodeChoice {
  private static let rounds = 3

  private let session: Session
  private let vault: Vault
  private let account: Account
  private var asker: Asker { session.asker }
  private let lengths: Options.Lengths
  /// One length only, if it was asked for by `--length`.
  private let length: Int?

  init(_ session: Session, _ vault: Vault, _ account: Account) throws(Failure) {
    self.session = session
    self.vault = vault
    self.account = account
    lengths = vault.configuration.options.policy.lengths
    length = session.length
    if let length, !lengths.allow(length) {
      throw Failure(.refused, "the configuration (lengths) doesn't allow passcodes of \(length) digits")
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
    let digits = new.passcode.read { Bytes($0) }
    guard Stream.output.write("\(digits)\n") else {
      throw Failure(.unusable, "a passcode was set, but standard output can't be written: enroll again")
    }
    session.hintAtStacks()
    return .done
  }

  private func ask(_ line: inout TypedLine, _ change: inout PasscodeChange) throws(Failure) {
    var problem: Text = ""
    for _ in 0..<PasscodeChoice.rounds {
      if let found = try problemOfOneRound(&line, &change) { problem = found } else { return }
      guard asker.isPatient else { break }
      asker.tell(problem)
    }
    throw Failure(.refused, asker.isPatient ? "no passcode was set" : problem)
  }

  /// Makes one up: uniformly random among those that aren't weak.
  private func generate(_ change: inout PasscodeChange) throws(Failure) {
    let sodium = try startSodium()
    let digits = length ?? (lengths.six ? 6 : 4)
    // One in eight is weak at most: a hundred in a row don't happen.
    for _ in 0..<100 {
      if change.new.passcode.makeUp(digits: digits, sodium), try judge(change) == .accepted { return }
    }
    throw Failure(.unusable, "no random passcode was found that is not weak: is weak_list too long?")
  }

  private func judge(_ change: borrowing PasscodeChange) throws(Failure) -> Choice {
    do throws(Fault) { return try vault.judge(account, change) } catch { throw Failure(error) }
  }

  /// nil: it is chosen.
  private func problemOfOneRound(
    _ line: inout TypedLine, _ change: inout PasscodeChange
  ) throws(Failure) -> Text? {
    guard try asker.askPasscode("New passcode (\(words)): ", &line, &change.new.passcode) == .passcode,
      length == nil || change.new.passcode.count == length
    else { return lengthProblem }
    switch try judge(change) {
    case .accepted: break
    case .easy(let weakness): asker.tell("Easy to guess: \(weakness.text).")
    case .refused(.length): return lengthProblem
    case .refused(.weak(let weakness)): return "Too easy to guess: \(weakness.text). Choose another one."
    }
    guard asker.isPatient else { return nil }
    return try problemOfRepetition(&line, change.new)
  }

  private var lengthProblem: Text { "A passcode is \(words)." }

  private func problemOfRepetition(
    _ line: inout TypedLine, _ new: borrowing NewPasscode
  ) throws(Failure) -> Text? {
    defer { line.wipe() }
    guard try asker.askLine("The same again: ", &line), new.passcode.isRepeated(in: line)
    else { return "The passcodes do not match. Start again." }
    return nil
  }

  private var words: Text {
    if let length { return "\(length) digits" }
    if lengths.four && lengths.six { return "4 or 6 digits" }
    return lengths.four ? "4 digits" : "6 digits"
  }
}
