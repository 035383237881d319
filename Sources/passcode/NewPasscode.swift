internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Choosing a passcode: asked twice, in at most three rounds, or made up; one place for enrolment and change.
final class NewPasscode {
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

  /// Leaves the new passcode in the secrets' field `code`: as it is typed, or with `--generate` made up.
  func choose(_ secrets: inout Secrets) throws(Failure) {
    if session.generates { try generate(&secrets) } else { try ask(&secrets) }
  }

  /// Says that it is set; one that was made up is told: the one secret that leaves.
  func announce(_ secrets: borrowing Secrets) throws(Failure) -> ExitStatus {
    guard session.generates else {
      session.say(.enrolled, account)
      session.hintAtStacks()
      return .done
    }
    let digits = secrets.read(.code) { Bytes($0) }
    guard Stream.output.write("\(digits)\n") else {
      throw Failure(.unusable, "a passcode was set, but standard output can't be written: enroll again")
    }
    session.hintAtStacks()
    return .done
  }

  private func ask(_ secrets: inout Secrets) throws(Failure) {
    var problem: Text = ""
    for _ in 0..<NewPasscode.rounds {
      if let found = try problemOfOneRound(&secrets) { problem = found } else { return }
      guard asker.isPatient else { break }
      asker.tell(problem)
    }
    throw Failure(.refused, asker.isPatient ? "no passcode was set" : problem)
  }

  /// Makes one up: uniformly random among those that aren't weak.
  private func generate(_ secrets: inout Secrets) throws(Failure) {
    let sodium = try startSodium()
    let digits = length ?? (lengths.six ? 6 : 4)
    // One in eight is weak at most: a hundred in a row don't happen.
    for _ in 0..<100 {
      secrets.write(.code) { code in
        for index in 0..<digits { code[index] = UInt8(ascii: "0") + UInt8(randomNumber(below: 10, sodium)) }
        return digits
      }
      if try judge(secrets) == .accepted { return }
    }
    throw Failure(.unusable, "no random passcode was found that is not weak: is weak_list too long?")
  }

  private func judge(_ secrets: borrowing Secrets) throws(Failure) -> Choice {
    do throws(Fault) { return try vault.judge(account, secrets) } catch { throw Failure(error) }
  }

  /// nil: it is chosen.
  private func problemOfOneRound(_ secrets: inout Secrets) throws(Failure) -> Text? {
    guard try asker.askPasscode("New passcode (\(words)): ", &secrets) == .passcode,
      length == nil || secrets.count(.code) == length
    else { return lengthProblem }
    switch try judge(secrets) {
    case .accepted: break
    case .easy(let weakness): asker.tell("Easy to guess: \(weakness.text).")
    case .refused(.length): return lengthProblem
    case .refused(.weak(let weakness)): return "Too easy to guess: \(weakness.text). Choose another one."
    }
    guard asker.isPatient else { return nil }
    return try problemOfRepetition(&secrets)
  }

  private var lengthProblem: Text { "A passcode is \(words)." }

  private func problemOfRepetition(_ secrets: inout Secrets) throws(Failure) -> Text? {
    secrets.copy(.code, to: .other)
    defer { secrets.wipe(.other) }
    guard try asker.askPasscode("The same again: ", &secrets) == .passcode, secrets.areEqual(.code, .other)
    else { return "The passcodes do not match. Start again." }
    return nil
  }

  private var words: Text {
    if let length { return "\(length) digits" }
    if lengths.four && lengths.six { return "4 or 6 digits" }
    return lengths.four ? "4 digits" : "6 digits"
  }
}
