internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeTool

/// Findings in the form of `passcode check`.
struct CheckReport {
  private let isQuiet: Bool
  private let wantsJSON: Bool
  private(set) var hasErrors = false
  private var check: Text = "verifier-configuration"
  private var hasFound = false

  init(_ order: Order) {
    wantsJSON = order.has(.json)
    isQuiet = order.has(.quiet)
  }

  mutating func begin(_ check: Text) {
    self.check = check
    hasFound = false
  }

  /// Says so where the check has found nothing.
  mutating func end(_ detail: Text = "") {
    if !hasFound && !isQuiet { write(.ok, CheckWords(Advice(detail))) }
  }

  mutating func tell(_ level: CheckLevel, _ message: Phrase, path: Bytes = [], command: Text = "") {
    hasFound = true
    if level == .error { hasErrors = true }
    write(level, CheckWords(Advice(message.text, command), path: path))
  }

  private func write(_ level: CheckLevel, _ words: CheckWords) {
    let line = wantsJSON ? words.json(check, level) : words.line(check, level)
    Stream.output.write(line.bytes)
  }
}
