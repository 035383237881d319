internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

/// The reasons for which a command fails. Words.swift has the line for standard error.
enum Failure: Error {
  case fault(Fault)
  case unknownOption(Bytes)
  case unknownCommand(Bytes)
  case operands(Command)
  case notItsOption(Command, Order.Option)
  case lengthValue, expiresValue
  case needsBatch, notWithBatch, outputNeedsSecrets, jsonNeedsOutput, withdrawOnly, workstationOnly
  case root, needsRoot
  case noServiceAccount, noLibrary
  case notEnrolled(Bytes)
  case noCode(Bytes)
  case notListed(Bytes)
  case codeUsed(Bytes)
  case notDigits, mismatch
  case lengthNotAllowed(Int)
  case refused(Choice.Refusal)
  case noTerminal, cancelled
  case noRandomPasscode
  case unwritable
  /// What was told to nobody works all the same.
  case unwritableSecret
  case list(Bytes, Errno)
  case typed, shown
  case openOutput(Bytes)
  case inUse(Bytes)
  case output(Bytes, Errno)

  init(_ error: EnrolmentError) {
    switch error {
    case .fault(let fault): self = .fault(fault)
    case .refused(let refusal): self = .refused(refusal)
    }
  }

  /// The exit status, as listed in passcode(1).
  var status: Int32 {
    switch self {
    case .unknownOption, .unknownCommand, .operands, .notItsOption, .lengthValue, .expiresValue, .needsBatch,
      .notWithBatch, .outputNeedsSecrets, .jsonNeedsOutput, .withdrawOnly, .workstationOnly, .noTerminal,
      .list, .typed,
      .shown:
      2
    case .notEnrolled, .noCode, .notListed: 3
    case .notDigits, .mismatch, .lengthNotAllowed, .refused: 5
    case .root, .needsRoot: 6
    case .fault, .codeUsed, .noServiceAccount, .noLibrary, .noRandomPasscode, .unwritable, .unwritableSecret,
      .openOutput, .inUse, .output:
      7
    case .cancelled: 8
    }
  }
}

/// Runs what the Vault does, and makes its faults ours.
func reporting<Value: ~Copyable>(_ body: () throws(Fault) -> Value) throws(Failure) -> Value {
  do throws(Fault) { return try body() } catch { throw .fault(error) }
}

/// One line on standard error.
func complain(_ text: Text) {
  Stream.error.write(Text("passcode server: \(text)\n").bytes)
}

func complain(_ phrase: Phrase) { complain(phrase.text) }
