public import PasscodePolicy

/// How serious a finding of `check` is. Only `error` changes the exit status.
public enum CheckLevel {
  case ok
  /// Something works, but should be different.
  case warning
  case error
  /// The check was left out.
  case skipped

  fileprivate var mark: Text {
    switch self {
    case .ok: "✓"
    case .warning: "!"
    case .error: "✗"
    case .skipped: "-"
    }
  }

  fileprivate var name: Text {
    switch self {
    case .ok: "ok"
    case .warning: "warning"
    case .error: "error"
    case .skipped: "skipped"
    }
  }
}

/// A finding of `check` in words.
public struct CheckWords {
  private let path: Bytes
  /// The number of the line in the file; 0 where there is none.
  private let line: UInt64
  private let advice: Advice

  /// - Parameter advice: the finding, and a command to be run as root.
  public init(_ advice: Advice, path: Bytes = [], line: UInt64 = 0) {
    self.path = path
    self.line = line
    self.advice = advice
  }

  public init(_ sentence: Phrase, path: Bytes = []) {
    self.init(Advice(sentence.text), path: path)
  }

  /// A line for people; the command has one of its own.
  public func line(_ check: Text, _ level: CheckLevel) -> Text {
    var text: Text = "\(level.mark) \(check)"
    if !advice.sentence.bytes.isEmpty { text += ": \(advice.sentence)" }
    return advice.command.bytes.isEmpty ? text + "\n" : text + "\n    \(run)\n"
  }

  // Translators: before a command that can be run as it is.
  private var run: Phrase { "run: \(advice.command)" }

  /// The names are a contract (passcode-json(5)).
  public func json(_ check: Text, _ level: CheckLevel) -> Text {
    """
    {"version":1,"check":"\(check)","level":"\(level.name)","path":\(quoted(path)),\
    "line":\(line == 0 ? "null" : "\(line)" as Text),"message":\(quoted(advice.sentence.bytes)),\
    "command":\(quoted(advice.command.bytes))}

    """
  }

  private func quoted(_ text: Bytes) -> Text {
    text.isEmpty ? "null" : "\"\(jsonEscaped(text))\""
  }
}
