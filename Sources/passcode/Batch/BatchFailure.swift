internal import PasscodePolicy
internal import PasscodeSystem

/// Why a list, or a command for administrators, was not begun or ended early.
enum BatchFailure {
  case list(Bytes, Errno)
  case unreadable(Errno)
  /// What is typed could be seen.
  case typed
  case shown
  case jsonNeedsOutput, outputNeedsGenerate, needsBatch, notWithBatch
  /// The file for passcodes is somebody else's, too.
  case openOutput(Bytes)
  case outputInUse(Bytes)
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
    case .unreadable, .openOutput, .outputInUse, .output, .noProcess, .noMemoryToMeasure, .configuration:
      .unusable
    }
  }
}
