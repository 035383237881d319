internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

/// Findings in the form of `passcode check`; the names in JSON are its contract.
struct CheckReport {
  enum Level {
    case ok, warning, error
  }

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
    if !hasFound && !isQuiet { write(.ok, detail) }
  }

  mutating func tell(_ level: Level, _ message: Phrase, path: Bytes = [], command: Text = "") {
    hasFound = true
    if level == .error { hasErrors = true }
    write(level, message.text, path, command)
  }

  private func write(_ level: Level, _ message: Text, _ path: Bytes = [], _ command: Text = "") {
    let line = wantsJSON ? json(level, message, path, command) : shown(level, message, command)
    Stream.output.write(line.bytes)
  }

  private func shown(_ level: Level, _ message: Text, _ command: Text) -> Text {
    var line: Text = "\(level.mark) \(check)"
    if !message.bytes.isEmpty { line += ": \(message)" }
    return command.bytes.isEmpty ? line + "\n" : line + "\n    \(run(command))\n"
  }

  private func run(_ command: Text) -> Phrase { "run: \(command)" }

  private func json(_ level: Level, _ message: Text, _ path: Bytes, _ command: Text) -> Text {
    """
    {"version":1,"check":"\(check)","level":"\(level.name)","path":\(quoted(path)),"line":null,\
    "message":\(quoted(message.bytes)),"command":\(quoted(command.bytes))}

    """
  }

  private func quoted(_ text: Bytes) -> Text {
    text.isEmpty ? "null" : "\"\(jsonEscaped(text))\""
  }
}

extension CheckReport.Level {
  fileprivate var mark: Text {
    switch self {
    case .ok: "✓"
    case .warning: "!"
    case .error: "✗"
    }
  }

  fileprivate var name: Text {
    switch self {
    case .ok: "ok"
    case .warning: "warning"
    case .error: "error"
    }
  }
}
