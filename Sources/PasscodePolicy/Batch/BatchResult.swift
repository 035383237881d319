/// The result of a line of a batch.
public enum BatchOutcome: UInt8, Sendable {
  case done, unchanged, skipped
  case notEnrolled, weak, wrongLength, unknownUser, repeated, badLine, noPassword, failed

  /// The word in JSON: a contract (passcode-json(5)).
  public var name: Text {
    switch self {
    case .done: "done"
    case .unchanged: "unchanged"
    case .skipped: "skipped"
    case .notEnrolled: "not_enrolled"
    case .weak: "weak"
    case .wrongLength: "wrong_length"
    case .unknownUser: "unknown_user"
    case .repeated: "repeated"
    case .badLine: "bad_line"
    case .noPassword: "no_password"
    case .failed: "failed"
    }
  }

  public var isFailure: Bool { rawValue > BatchOutcome.skipped.rawValue }
}

public struct BatchResult {
  public let line: UInt64
  /// Empty: must not be shown.
  public let name: Bytes
  public let outcome: BatchOutcome
  /// A reason that says more than the outcome; may be empty.
  public let reason: Text

  public init(_ line: UInt64, _ name: Bytes, _ outcome: BatchOutcome, _ reason: Text = "") {
    self.line = line
    self.name = name
    self.outcome = outcome
    self.reason = reason
  }

  public var json: Text {
    let user: Text = name.isEmpty ? "null" : "\"\(jsonEscaped(name))\""
    let why: Text = reason.bytes.isEmpty ? "null" : "\"\(jsonEscaped(reason.bytes))\""
    return
      "{\"version\":1,\"line\":\(line),\"user\":\(user),\"result\":\"\(outcome.name)\",\"reason\":\(why)}\n"
  }
}

public struct BatchCounts {
  public private(set) var done: UInt64 = 0
  public private(set) var unchanged: UInt64 = 0
  public private(set) var skipped: UInt64 = 0
  public private(set) var failed: UInt64 = 0

  public init() {}

  public var all: UInt64 { done + unchanged + skipped + failed }

  public mutating func add(_ outcome: BatchOutcome) {
    switch outcome {
    case .done: done += 1
    case .unchanged: unchanged += 1
    case .skipped: skipped += 1
    case .notEnrolled, .weak, .wrongLength, .unknownUser, .repeated, .badLine, .noPassword, .failed:
      failed += 1
    }
  }

  /// - Parameter stoppedAt: the last line that was handled; nil: it came to its end.
  public func json(_ stoppedAt: UInt64?) -> Text {
    let stop: Text = stoppedAt.map { "\($0)" } ?? "null"
    return
      "{\"version\":1,\"users\":\(all),\"done\":\(done),\"unchanged\":\(unchanged),\"skipped\":\(skipped),\"failed\":\(failed),\"stopped_at\":\(stop)}\n"
  }
}
