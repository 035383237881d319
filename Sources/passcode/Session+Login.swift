internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

extension Question {
  /// What the answer is for: only the old passcode of a change doesn't count as a login.
  var purpose: Purpose { if case .oldPasscode = self { .change } else { .login } }
}

extension Session {
  /// What records and the log call this tool.
  var serviceName: Bytes { Bytes(text: "passcode") }

  /// - Throws: unless the account's passcode is this person's to try.
  func permit(_ account: Account, _ access: Access) throws(Failure) -> Permit {
    let origin = LoginOrigin(process, service: serviceName)
    guard case .admitted(let permit) = Gate.admit(account, origin, access) else {
      throw .notPermitted
    }
    return permit
  }

  /// The choice of a new passcode for an account.
  ///
  /// - Throws: if `--length` names a length that the configuration doesn't allow.
  func choice(_ vault: Vault, _ account: Account) throws(Failure) -> PasscodeChoice {
    try PasscodeChoice(
      asker, vault.configuration.options.policy.lengths, length: length, try startSodium()
    ) { (change: borrowing PasscodeChange) throws(Fault) in
      try vault.judge(account, change)
    }
  }

  /// Says that the new passcode is set; a generated one is printed instead.
  func announce(_ new: borrowing NewPasscode, _ account: Account) throws(Failure) -> ExitStatus {
    if !generates {
      say(.enrolled, account)
    } else if !Stream.output.writeLine(new.passcode) {
      throw .unwritablePasscode
    }
    hintAtStacks()
    return .done
  }

  /// One attempt, the question included.
  func run<Way: Login & ~Copyable>(
    _ login: inout Way, _ question: Question, _ secrets: inout Secrets
  ) throws(Failure) -> Verdict {
    let verdict = try login.run(&secrets.passcode, &secrets.unsealed) { passcode, _ throws(Failure) in
      guard try asker.askPasscode(question.text, &secrets.line, &passcode) == .passcode else {
        throw .noAttempt
      }
      return .passcode
    }
    // What somebody else may have tried, once the correct passcode was typed.
    if verdict.isGranted, let notice = verdict.notice { complain(Phrase(notice)) }
    return verdict
  }
}
