internal import PasscodePolicy
internal import PasscodeSystem

// What `calibrate` says.

enum CalibrationMessage {
  case measured(Options.Cost, milliseconds: UInt64)
}

extension CalibrationMessage {
  /// A comment of the configuration file, too.
  var text: Text {
    switch self {
    case .measured(let cost, let milliseconds):
      "# opslimit \(cost.operations) and memlimit \(cost.memory >> 20)M: a hash takes \(milliseconds) ms here"
    }
  }
}

extension Failure {
  static var noMemoryToMeasure: Failure {
    Failure(.unusable, "there is not enough memory to measure anything")
  }

  static var targetValue: Failure { Failure(.usage, "--target needs 10ms to 10s, such as 250ms") }

  static var onlyRoot: Failure { Failure(.notPermitted, "only root can do that: run it with sudo") }

  static func file(_ path: Bytes, _ error: Errno) -> Failure {
    Failure(.unusable, "\(printable(path)): \(error.text)")
  }
}
