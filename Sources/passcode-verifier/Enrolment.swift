internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// A new passcode, or a one-time code, for one user.

extension Administration {
  private static var rounds: Int { 3 }

  func newSecrets() throws(Failure) -> Secrets {
    guard let secrets = Secrets(sodium) else { throw .fault(Fault(.noMemory)) }
    return secrets
  }

  func enroll() throws(Failure) {
    try checkLength()
    // Nobody needs to choose a passcode where it can't be kept.
    _ = try reporting { () throws(Fault) in try fleet.status(order.user) }
    var secrets = try newSecrets()
    try enroll(&secrets)
    guard order.has(.generate) else { return Administration.say(order, Act.enrolled.done(order.user)) }
    try tell(secrets.change.new.passcode)
  }

  // With the secrets of its caller: of a variable Swift 6.2 lends no two parts at once.
  private func enroll(_ secrets: inout Secrets) throws(Failure) {
    if order.has(.generate) {
      try makeUp(order.user, &secrets.change)
    } else {
      try choose(&secrets.line, &secrets.change)
    }
    do throws(EnrolmentError) {
      try set(order.user, secrets.change, &secrets.unsealed)
    } catch {
      throw Failure(error)
    }
  }

  /// Sets an account's new passcode, and logs that.
  func set(
    _ account: Bytes, _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed
  ) throws(EnrolmentError) {
    try fleet.enroll(account, change, &unsealed, by: .direct)
    Administration.note(Act.enrolled.event, account)
  }

  func checkLength() throws(Failure) {
    if let length = order.length, !vault.configuration.options.policy.lengths.allow(length) {
      throw .lengthNotAllowed(length)
    }
  }

  /// Makes one up: uniformly random among those that aren't weak.
  func makeUp(_ account: Bytes, _ change: inout PasscodeChange) throws(Failure) {
    let digits = order.length ?? (vault.configuration.options.policy.lengths.six ? 6 : 4)
    // One in eight is weak at most: a hundred in a row don't happen.
    for _ in 0..<100 where change.new.passcode.makeUp(digits: digits, sodium) {
      if try choice(account, change) == .accepted { return }
    }
    throw .noRandomPasscode
  }

  private func choice(_ account: Bytes, _ change: borrowing PasscodeChange) throws(Failure) -> Choice {
    do throws(Fault) { return try fleet.choice(account, change) } catch { throw .fault(error) }
  }

  /// Asked twice, in at most three rounds; from standard input once.
  private func choose(_ line: inout TypedLine, _ change: inout PasscodeChange) throws(Failure) {
    var problem = Failure.notDigits
    for _ in 0..<(order.has(.stdin) ? 1 : Administration.rounds) {
      guard let found = try problemOfOneRound(&line, &change) else { return }
      problem = found
      if !order.has(.stdin) { complain(found.text) }
    }
    throw order.has(.stdin) ? problem : .cancelled
  }

  /// Asks for a passcode once; returns what is wrong with it, or nil.
  private func problemOfOneRound(
    _ line: inout TypedLine, _ change: inout PasscodeChange
  ) throws(Failure) -> Failure? {
    defer { line.wipe() }
    guard try read(&line, Words.first.text.bytes), change.new.passcode.take(line) == .passcode,
      order.length == nil || change.new.passcode.count == order.length
    else { return order.length.map { .lengthNotAllowed($0) } ?? .notDigits }
    if case .refused(let refusal) = try choice(order.user, change) { return .refused(refusal) }
    if order.has(.stdin) { return nil }
    guard try read(&line, Words.second.text.bytes), change.new.passcode.isRepeated(in: line) else {
      return .mismatch
    }
    return nil
  }

  /// - Returns: false if it was too long.
  private func read(_ line: inout TypedLine, _ prompt: Bytes) throws(Failure) -> Bool {
    let outcome: LineRead
    if order.has(.stdin) {
      outcome = line.readFromInput()
    } else {
      guard let terminal = Terminal() else { throw .noTerminal }
      outcome = line.read(from: terminal, prompt: prompt)
    }
    switch outcome {
    case .line: return true
    case .tooLong: return false
    case .endOfFile, .interrupted: throw .cancelled
    case .failed(.noTerminal): throw .noTerminal
    case .failed(let error): throw .list(Bytes(text: "standard input"), error)
    }
  }

  /// The one secret that leaves.
  private func tell(_ secret: borrowing Passcode) throws(Failure) {
    guard Stream.output.writeLine(secret) else { throw .unwritableSecret }
  }

  // MARK: One-time codes

  func invite() throws(Failure) {
    if order.has(.withdraw) {
      switch try reporting({ () throws(Fault) in try withdraw(order.user) }) {
      case .done: return Administration.say(order, Words.withdrawn(order.user))
      case .noCode: throw .noCode(order.user)
      case .used: throw .codeUsed(order.user)
      }
    }
    var secrets = try newSecrets()
    try invite(&secrets)
    try tell(secrets.passcode)
    guard !order.has(.quiet) else { return }
    let status = try reporting { () throws(Fault) in try fleet.status(order.user) }
    complain(Words.invited(order.user, order.seconds, status))
  }

  private func invite(_ secrets: inout Secrets) throws(Failure) {
    makeUpCode(&secrets.passcode)
    do throws(Fault) {
      try keep(order.user, secrets.passcode, &secrets.unsealed)
    } catch {
      throw .fault(error)
    }
  }

  func makeUpCode(_ code: inout Passcode) {
    code.draw(OneTimeCode.length, from: OneTimeCode.letters, sodium)
  }

  /// Stores an account's one-time code in etcd, and logs that.
  func keep(_ account: Bytes, _ code: borrowing Passcode, _ unsealed: inout Unsealed) throws(Fault) {
    try fleet.invite(account, code, seconds: order.seconds, &unsealed)
    Administration.note(Act.invited.event, account)
  }

  /// Withdraws an account's one-time code, and logs that.
  func withdraw(_ account: Bytes) throws(Fault) -> Withdrawal {
    let outcome = try fleet.withdraw(account)
    if outcome == .done { Administration.note("one-time code withdrawn", account) }
    return outcome
  }
}
