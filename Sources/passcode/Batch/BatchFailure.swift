internal import PasscodePolicy
internal import PasscodeSystem

/// Why a batch, or another command for administrators, didn't start or ended early.
enum BatchFailure {
  case list(Bytes, Errno)
  case unreadable(Errno)
  /// The list has passcodes and standard input is a terminal: people could watch them being typed.
  case typed
  /// Standard output is no place for the passcodes of `--generate`.
  case shown
  case jsonNeedsOutput, outputNeedsGenerate, needsBatch, notWithBatch
  /// The file for passcodes isn't root's alone.
  case openOutput(Bytes)
  case inUse(Bytes)
  case output(Bytes, Errno)
  case noProcess(Errno)
  case targetValue, stateValue, sinceValue
  case noMemoryToMeasure
  case configuration(Bytes, Errno)

  var status: ExitStatus {
    switch self {
    case .list, .typed, .shown, .jsonNeedsOutput, .outputNeedsGenerate, .needsBatch, .notWithBatch,
      .targetValue, .stateValue, .sinceValue:
      .usage
    case .unreadable, .openOutput, .inUse, .output, .noProcess, .noMemoryToMeasure, .configuration:
      .unusable
    }
  }
}
