internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// A new passcode, or a one-time code, for one user.

extension Administration {
  func newSecrets() throws(Failure) -> Secrets {
    guard let secrets = Secrets(sodium) else { throw .fault(Fault(.noMemory)) }
    return secrets
  }

  func enroll() throws(Failure) {
    let choice = try choice(order.user)
    // Nobody needs to choose a passcode where it can't be kept.
    _ = try reporting { () throws(Fault) in try fleet.status(order.user) }
    var secrets = try newSecrets()
    try enroll(&secrets, choice)
    guard order.has(.generate) else { return Administration.say(order, Act.enrolled.done(order.user)) }
    try tell(secrets.change.new.passcode)
  }

  // With the secrets of its caller: of a variable Swift 6.2 lends no two parts at once.
  private func enroll(_ secrets: inout Secrets, _ choice: PasscodeChoice) throws(Failure) {
    try choice.choose(&secrets.line, &secrets.change, generates: order.has(.generate))
    do throws(EnrolmentError) {
      try set(order.user, secrets.change, &secrets.unsealed)
    } catch {
      switch error {
      case .fault(let fault): throw .fault(fault)
      case .refused(let refusal): throw .refused(refusal)
      }
    }
  }

  /// Sets an account's new passcode, and logs that.
  func set(
    _ account: Bytes, _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed
  ) throws(EnrolmentError) {
    try fleet.enroll(account, change, &unsealed, by: .direct)
    Administration.note(Act.enrolled.event, account)
  }

  /// The choice of a new passcode for an account.
  ///
  /// - Throws: if `--length` names a length that the configuration doesn't allow.
  func choice(_ account: Bytes) throws(Failure) -> PasscodeChoice {
    let asker = order.has(.stdin) ? Asker.input : .terminal
    return try PasscodeChoice(
      asker, vault.configuration.options.policy.lengths, length: order.length, sodium
    ) { (change: borrowing PasscodeChange) throws(Fault) in
      try fleet.choice(account, change)
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
