internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

// What a batch says.

extension Phrase {
  static func workerDied(_ process: Int32) -> Phrase {
    "process \(UInt64(process)) died: run this line again"
  }

  /// The line's worker was stopped while it waited, and a later line was done.
  static var notBegun: Phrase { "stopped while it waited: nothing was changed" }

  static var stuckSlots: Phrase {
    "other processes are stuck holding hashing slots; continuing, with one overflow slot kept free for logins"
  }
}

extension BatchProgress {
  /// `[########            ]  40 %  users: 4000, failed: 2, 960 a minute, 6 min left`
  var bar: Text {
    guard let percent else { return text.text }
    let full = Int(percent / 5)
    let bar =
      Bytes(repeating: UInt8(ascii: "#"), count: full)
      + Bytes(repeating: UInt8(ascii: " "), count: 20 - full)
    return "[\(bar)] \(percent) %  \(text)"
  }

  var text: Phrase {
    // Translators: while a list is worked through; the last is a rate.
    let soFar: Phrase = "users: \(counts.all), failed: \(counts.failed), \(rate) a minute"
    guard let secondsLeft else { return soFar }
    return secondsLeft < 120 ? "\(soFar), \(secondsLeft) s left" : "\(soFar), \(secondsLeft / 60) min left"
  }
}

extension BatchFailure {
  /// One line for standard error.
  var text: Phrase {
    switch self {
    case .list(let path, let error), .configuration(let path, let error):
      Phrase("\(printable(path)): \(error.localText)" as Text)
    case .unreadable(let error): "the list can't be read: \(error.localText)"
    case .typed: "passcodes typed here could be seen: --batch needs a file or a pipe"
    case .shown: "passcodes are printed only into a pipe: for a file use --output FILE, for a terminal --show"
    case .jsonNeedsOutput: "--json with --generate needs --output FILE"
    case .outputNeedsGenerate: "--output, --show and --length need --generate"
    case .needsBatch: "--output, --show and --skip-enrolled need --batch"
    case .notWithBatch: "--batch can't be used with USER, --stdin or --force: the users are in the list"
    case .openOutput(let path):
      "\(printable(path)): needs owner root and mode 0600, or must not exist"
    case .inUse(let path): "\(printable(path)): another run is writing to it"
    case .output(let path, let error):
      "the passcodes can't be written to \(printable(path)): \(error.localText)"
    case .noProcess(let error): "no process can be started: \(error.localText)"
    case .targetValue: "--target needs a time from 10ms to 10s, such as 250ms"
    case .stateValue: "--state needs ok, locked, exhausted, disabled, expired, must_change or corrupt"
    case .sinceValue: "--since needs a time up to 365d, such as 12h"
    case .noMemoryToMeasure: "there is not enough memory to measure anything"
    }
  }
}
