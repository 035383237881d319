internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Choosing a passcode: asked twice, in at most three rounds; one place for enrolment and change.
struct NewPasscode {
  private static let rounds = 3

  let asker: Asker
  let lengths: Options.Lengths
  /// One length only, if it was asked for by `--length`.
  let length: Int?

  init(_ session: Session, _ vault: Vault, _ asker: Asker) throws(Failure) {
    self.asker = asker
    lengths = vault.configuration.options.policy.lengths
    length = session.length
    if let length, !lengths.allow(length) {
      throw Failure(.refused, "the configuration (lengths) doesn't allow passcodes of \(length) digits")
    }
  }

  /// Leaves the new passcode in the secrets' field `code`.
  func choose(_ secrets: inout Secrets) throws(Failure) {
    var problem: Text = ""
    for _ in 0..<NewPasscode.rounds {
      if let found = try problemOfOneRound(&secrets) { problem = found } else { return }
      guard asker.isPatient else { break }
      asker.tell(problem)
    }
    throw Failure(.refused, asker.isPatient ? "no passcode was set" : problem)
  }

  /// Makes one up: uniformly random.
  func generate(_ secrets: inout Secrets, _ sodium: Sodium) {
    let digits = length ?? (lengths.six ? 6 : 4)
    secrets.write(.code) { code in
      for index in 0..<digits { code[index] = UInt8(ascii: "0") + UInt8(randomNumber(below: 10, sodium)) }
      return digits
    }
  }

  /// nil: it is chosen.
  private func problemOfOneRound(_ secrets: inout Secrets) throws(Failure) -> Text? {
    guard try asker.askPasscode("New passcode (\(words)): ", &secrets) == .passcode,
      allows(secrets.count(.code))
    else { return "A passcode is \(words)." }
    guard asker.isPatient else { return nil }
    secrets.copy(.code, to: .other)
    guard try asker.askPasscode("The same again: ", &secrets) == .passcode, secrets.areEqual(.code, .other)
    else {
      return "The two differ: once more, from the start."
    }
    secrets.wipe(.other)
    return nil
  }

  private func allows(_ count: Int) -> Bool {
    lengths.allow(count) && (length == nil || count == length)
  }

  private var words: Text {
    if let length { return "\(length) digits" }
    if lengths.four && lengths.six { return "4 or 6 digits" }
    return lengths.four ? "4 digits" : "6 digits"
  }
}
