internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// The reasons for which a command fails. Messages/Failure+Words.swift has the line for standard error.
enum Failure: Error {
  case fault(Fault)
  /// Somebody else's attempt holds the record and doesn't move.
  case held(Fault, Holder)
  /// The new passcode was refused when it was set, though not when it was chosen.
  case refused(Choice.Refusal)
  case policyChanged
  case badChoice(PasscodeChoice.Problem)
  case noneChosen
  case lengthNotAllowed(Int)
  case noAttempt
  case longPassword
  case wrongPassword
  /// The right one, itself 4 or 6 digits.
  case passwordIsDigits
  case notEnrolled(Bytes)
  case noDeletedAccount(Bytes)
  case noAccount(Bytes)
  /// There is still an account under the old name: `usermod -l` has to come before `rename`.
  case stillThere(Bytes)
  case disabled
  /// The caller may only look at the status.
  case onlyStatus
  case otherPerson
  case notPermitted
  case onlyRoot
  /// An option that only root may use.
  case onlyRootUses(Command.Option)
  case selfServiceClosed
  /// A fleet's servers keep the passcode; and which command would do it there.
  case fleets(Text, Bytes)
  /// The account is the fleet's, and no server has answered.
  case fleetSilent(Bytes, Fault)
  /// What was typed there is no one-time code, or a wrong one; or none is valid.
  case notCode, wrongCode
  case noCode(Bytes)
  case forbidden
  case cancelled
  /// `try` was ended by a signal.
  case trialEnded
  case loginEnded
  case noModule
  /// passcode-verifier isn't installed.
  case noVerifier
  case noTemporaryDirectory
  case noLibrary
  case noRandomPasscode
  /// What was asked for could not be printed: a full disk, a closed descriptor.
  case unwritable
  /// The generated passcode could not be written out.
  case unwritablePasscode
  case noTerminal
  case unreadable(Errno)
  case unknownOption(Bytes)
  /// An option that lacks its value, or got one and takes none.
  case noValue(Bytes), surplusValue(Bytes)
  case unknownCommand(Bytes)
  case optionNeedsCommand(Bytes)
  case notItsOption(Text, Bytes)
  case operands(Text, Command.Operand)
  /// Root set a passcode without saying whose, and nobody is there to be asked.
  case needsName
  case batch(BatchFailure)
  case confPath
  case lengthValue
  case wrongRecoveryLine(Int)
  case pcrsValue
  case expiresValue

  init(_ error: EnrolmentError) {
    switch error {
    case .fault(let fault): self = .fault(fault)
    case .refused: self = .policyChanged
    }
  }

  var status: ExitStatus {
    switch self {
    case .wrongPassword, .wrongCode: .wrong
    case .noTerminal, .unreadable, .unknownOption, .noValue, .surplusValue, .unknownCommand,
      .optionNeedsCommand, .notItsOption, .operands, .needsName,
      .confPath, .lengthValue, .expiresValue, .pcrsValue:
      .usage
    case .notEnrolled, .noDeletedAccount, .noCode: .notEnrolled
    case .disabled, .onlyStatus: .locked
    case .refused, .policyChanged, .badChoice, .noneChosen, .lengthNotAllowed, .noAttempt, .notCode,
      .longPassword,
      .passwordIsDigits, .wrongRecoveryLine:
      .refused
    case .otherPerson, .notPermitted, .onlyRoot, .onlyRootUses, .selfServiceClosed, .fleets,
      .forbidden:
      .notPermitted
    case .fault, .fleetSilent, .held, .noAccount, .stillThere, .noModule, .noVerifier, .noTemporaryDirectory,
      .noLibrary,
      .noRandomPasscode,
      .unwritable,
      .unwritablePasscode:
      .unusable
    case .cancelled, .trialEnded, .loginEnded: .cancelled
    case .batch(let failure): failure.status
    }
  }
}

/// Runs what the Vault does, and makes its faults ours.
func reporting<Value: ~Copyable>(_ body: () throws(Fault) -> Value) throws(Failure) -> Value {
  do throws(Fault) { return try body() } catch { throw .fault(error) }
}
