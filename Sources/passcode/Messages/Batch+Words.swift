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
