public import PasscodePolicy

// What a batch says of its lines, and at its end.

extension BatchResult {
  /// `line 3: alice: unknown user`
  ///
  /// - Parameter isOfList: false: there is no list that has lines.
  public func text(_ act: Act, isOfList: Bool = true) -> Phrase {
    var what: Text = name.isEmpty ? "" : "\(printable(name)): "
    what += outcome.text(act).text
    if !reason.bytes.isEmpty { what += ": \(reason)" }
    return isOfList ? "line \(line): \(what)" : Phrase(what)
  }
}

extension BatchOutcome {
  public func text(_ act: Act) -> Phrase {
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
    case .noPassword:
      "not paused: no password could end the pause (see --even-locked-out)"
    case .failed: "failed"
    }
  }
}

extension BatchLine.Problem {
  public var text: Phrase {
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

extension BatchCounts {
  public var text: Phrase {
    var text: Phrase = "users: \(all), done: \(done)"
    if unchanged > 0 { text = "\(text), unchanged: \(unchanged)" }
    if skipped > 0 { text = "\(text), skipped: \(skipped)" }
    return "\(text), failed: \(failed)"
  }

  /// - Parameters:
  ///   - line: the last that was handled, of a batch that ended early.
  ///   - isRepeatable: the whole command can be run again, and does the rest.
  public static func stopped(_ line: UInt64, isRepeatable: Bool, isOfList: Bool) -> Phrase {
    guard isOfList else { return "stopped early: run it again to do the rest" }
    return isRepeatable
      ? "stopped after line \(line): run it again to do the rest"
      : "stopped after line \(line): the rest begins at line \(line + 1) (tail -n +\(line + 1))"
  }
}

extension Phrase {
  public static func workerDied(_ process: Int32) -> Phrase {
    "process \(UInt64(process)) died: run this line again"
  }

  public static var stuckSlots: Phrase {
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
