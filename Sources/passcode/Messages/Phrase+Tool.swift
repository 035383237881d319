internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

// Where the tool takes a phrase.

@_disfavoredOverload
func complain(_ phrase: Phrase) {
  complain(phrase.text)
}

@_disfavoredOverload
func printLine(_ phrase: Phrase) {
  printLine(phrase.text)
}

extension Stream {
  @_disfavoredOverload @discardableResult
  func write(_ phrase: Phrase) -> Bool {
    write(phrase.text)
  }
}

extension Verdict {
  /// What is told at the prompt; nil: nothing.
  var told: Phrase? { notice.map { Phrase($0) } }
}
