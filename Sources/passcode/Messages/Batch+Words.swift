internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

// What a batch says.

enum BatchMessage {
  case workerDied(Int32)
  /// The line's worker was stopped while it waited, and a later line was done.
  case notBegun
  case stuckSlots
  case summary(BatchCounts)
  case stopped(UInt64, skipsEnrolled: Bool)
}

extension BatchMessage {
  var text: Phrase {
    switch self {
    case .workerDied(let process): "process \(UInt64(process)) died: run this line again"
    case .notBegun: "stopped while it waited: nothing was changed"
    case .stuckSlots:
      "other processes are stuck holding hashing slots; continuing, with one overflow slot kept free for logins"
    case .summary(let counts): counts.text
    case .stopped(let line, true): "stopped after line \(line): run it again to do the rest"
    case .stopped(let line, false):
      "stopped after line \(line): the rest begins at line \(line + 1) (tail -n +\(line + 1))"
    }
  }
}

extension BatchCounts {
  fileprivate var text: Phrase {
    var text: Phrase = "users: \(all), done: \(done)"
    if unchanged > 0 { text = "\(text), unchanged: \(unchanged)" }
    if skipped > 0 { text = "\(text), skipped: \(skipped)" }
    return "\(text), failed: \(failed)"
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

extension BatchResult {
  /// `line 3: alice: unknown user`
  func text(_ act: Act) -> Phrase {
    var what: Text = name.isEmpty ? "" : "\(printable(name)): "
    what += outcome.text(act)
    if !reason.bytes.isEmpty { what += ": \(reason)" }
    return "line \(line): \(what)"
  }
}

extension BatchOutcome {
  fileprivate func text(_ act: Act) -> Phrase {
    switch self {
    case .done: act.phrase
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
  var text: Phrase {
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

extension Act {
  /// The event in words for people.
  fileprivate var phrase: Phrase {
    switch self {
    case .enrolled: "passcode enrolled"
    case .changed: "passcode changed"
    case .removed: "passcode removed"
    case .unlocked: "passcode unlocked"
    case .disabled: "passcode disabled"
    case .enabled: "passcode enabled"
    case .renamed: "passcode renamed"
    }
  }
}
