internal import PasscodePolicy
internal import PasscodeSystem

// What a batch says.

enum BatchMessage {
  case workerDied(Int32)
  /// Its worker was stopped while it waited, and a later line was done.
  case notBegun
  case stuckSlots
  case summary(BatchCounts)
  case stopped(UInt64, skipsEnrolled: Bool)
}

extension BatchMessage {
  var text: Text {
    switch self {
    case .workerDied(let process): "process \(UInt64(process)) died: run this line again"
    case .notBegun: "stopped while it waited: nothing was changed"
    case .stuckSlots:
      "hashing slots are held by processes that make no progress: going on, with an overflow slot free for logins"
    case .summary(let counts): counts.text
    case .stopped(let line, true): "stopped after line \(line): run it again to do the rest"
    case .stopped(let line, false):
      "stopped after line \(line): the rest begins at line \(line + 1) (tail -n +\(line + 1))"
    }
  }
}

extension BatchCounts {
  fileprivate var text: Text {
    var text: Text = "users: \(all), done: \(done)"
    if unchanged > 0 { text += ", unchanged: \(unchanged)" }
    if skipped > 0 { text += ", skipped: \(skipped)" }
    return text + ", failed: \(failed)"
  }
}

extension BatchProgress {
  /// `[########            ]  40 %  users: 4000, failed: 2, 960 a minute, 6 min left`
  var bar: Text {
    guard let percent else { return text }
    let full = Int(percent / 5)
    let bar =
      Bytes(repeating: UInt8(ascii: "#"), count: full)
      + Bytes(repeating: UInt8(ascii: " "), count: 20 - full)
    return "[\(bar)] \(percent) %  \(text)"
  }

  var text: Text {
    let soFar: Text = "users: \(counts.all), failed: \(counts.failed), \(rate) a minute"
    guard let secondsLeft else { return soFar }
    return secondsLeft < 120 ? "\(soFar), \(secondsLeft) s left" : "\(soFar), \(secondsLeft / 60) min left"
  }
}

extension BatchResult {
  /// `line 3: alice: unknown user`
  func text(_ act: Act) -> Text {
    let what = name.isEmpty ? outcome.text(act) : "\(printable(name)): \(outcome.text(act))"
    return reason.bytes.isEmpty ? "line \(line): \(what)" : "line \(line): \(what): \(reason)"
  }
}

extension BatchOutcome {
  fileprivate func text(_ act: Act) -> Text {
    switch self {
    case .done: act.event
    case .unchanged: "nothing to change"
    case .skipped: "already has a passcode"
    case .notEnrolled: "no passcode is set"
    case .weak: "too easy to guess"
    case .wrongLength: "the configuration (lengths) doesn't allow that length"
    case .unknownUser: "unknown user"
    case .repeated: "an earlier line names the same user"
    case .badLine: "bad line"
    case .failed: "failed"
    }
  }
}

extension BatchLine.Problem {
  var text: Text {
    switch self {
    case .tooLong: "longer than 511 bytes"
    case .noUser: "does not begin with a user name"
    case .noPasscode: "no passcode: the line must be USER:PASSCODE"
    case .surplusPasscode: "the line must be a user name and nothing else"
    case .notDigits: "what follows the user name is not 4 or 6 digits"
    case .carriageReturn: "ends in a carriage return: convert the file with dos2unix"
    }
  }
}

extension BatchFailure {
  /// One line for standard error.
  var text: Text {
    switch self {
    case .list(let path, let error), .configuration(let path, let error): "\(printable(path)): \(error.text)"
    case .unreadable(let error): "the list can't be read: \(error.text)"
    case .typed: "passcodes typed here could be seen: --batch needs a file or a pipe"
    case .shown: "passcodes are printed only into a pipe: for a file use --output FILE, for a terminal --show"
    case .jsonNeedsOutput: "--json with --generate needs --output FILE"
    case .outputNeedsGenerate: "--output, --show and --length need --generate"
    case .needsBatch: "--output, --show and --skip-enrolled need --batch"
    case .notWithBatch: "--batch can't be used with USER, --stdin or --force: the users are in the list"
    case .openOutput(let path):
      "\(printable(path)): needs owner root and mode 0600, or must not exist"
    case .inUse(let path): "\(printable(path)): another run is writing to it"
    case .output(let path, let error): "the passcodes can't be written to \(printable(path)): \(error.text)"
    case .noProcess(let error): "no process can be started: \(error.text)"
    case .targetValue: "--target needs a time from 10ms to 10s, such as 250ms"
    case .stateValue: "--state needs ok, locked, exhausted, disabled, expired, must_change or corrupt"
    case .sinceValue: "--since needs a time up to 365d, such as 12h"
    case .noMemoryToMeasure: "there is not enough memory to measure anything"
    }
  }
}
