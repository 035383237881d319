public import PasscodePolicy
public import PasscodeSystem

/// What a passcode is typed for. Decides what counts as the one login of a passcode with `--must-change`.
public enum Purpose: Equatable, Sendable {
  /// To open something, or as proof for anything but a change. Spends the one login.
  case login
  /// Proves the old passcode of a change: opens nothing, spends nothing, and works when the passcode must be changed.
  case change
}

/// One login, by a way to a store: a look before the prompt, and an attempt after it. This process may reach the store
/// itself (`DirectLogin`) or have the helper do that (`IndirectLogin`).
public protocol Login: ~Copyable {
  /// What can be said without a passcode: the refusal there is now, or nil if asking for one makes sense.
  ///
  /// - Parameter unsealed: where a login that opens the store itself has key and credential, until this returns.
  mutating func look(_ unsealed: inout Unsealed) -> Verdict?

  /// Compares and counts one passcode.
  ///
  /// - Parameters:
  ///   - passcode: an `Answer.passcode`.
  ///   - unsealed: as for `look`.
  mutating func attempt(_ passcode: borrowing Passcode, _ unsealed: inout Unsealed) -> Verdict

  /// What the last look found.
  var looked: Looked { get }

  /// Enter, while the fingerprint reader could be used: alone, or with `finger=both` after a passcode.
  ///
  /// - Parameters:
  ///   - transcript: all that had arrived from it by then.
  ///   - passcode: an `Answer.passcode`, or none.
  mutating func accept(
    _ transcript: FingerTranscript, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed
  ) -> Verdict
}

/// What a prompt needs to know of the look before it.
public struct Looked: Sendable {
  /// Whether a finger may be taken for this passcode.
  public internal(set) var takesFinger = false
  /// Whether a finger is taken only after passcode or password were used again.
  public internal(set) var needsPasscode = false
  /// After failures, how many attempts are left before a delay. 0: none failed, or it isn't known.
  public package(set) var attemptsLeft: UInt32 = 0

  package init() {}
}

/// What the person answered a prompt with.
public enum Response: Sendable {
  case passcode
  /// What came from the reader; with `finger=both` there is a passcode, too.
  case finger(FingerTranscript)
}

extension Login where Self: ~Copyable {
  /// Only a login that opens the store itself takes fingers.
  public mutating func accept(
    _: FingerTranscript, _: borrowing Passcode, _: inout Unsealed
  ) -> Verdict {
    .notPermitted(.fingerNeeded)
  }

  /// The one way from a prompt to a verdict, for every program.
  ///
  /// - Parameters:
  ///   - asksDespite: whether to ask although the look refused. The attempt decides again, under the record's lock.
  ///   - ask: takes a passcode, or the reader's transcript if the look allows it; its error ends the login.
  public mutating func run<Stop: Error>(
    _ passcode: inout Passcode, _ unsealed: inout Unsealed,
    despite asksDespite: (Verdict) -> Bool = { _ in false },
    asking ask: (inout Passcode, Looked) throws(Stop) -> Response
  ) throws(Stop) -> Verdict {
    if let refusal = look(&unsealed), !asksDespite(refusal) { return refusal }
    // What an earlier question took isn't an answer to this one.
    passcode.wipe()
    switch try ask(&passcode, looked) {
    case .passcode: return attempt(passcode, &unsealed)
    case .finger(let transcript): return accept(transcript, passcode, &unsealed)
    }
  }
}

extension Passcode {
  /// Takes a typed line if it is a passcode; else there is none afterwards. The one way from the one to the other.
  @inline(never)
  public mutating func take(_ line: borrowing TypedLine) -> Answer {
    wipe()
    let answer = line.read { Answer($0) }
    guard answer == .passcode else { return answer }
    return copy(line) ? .passcode : .other
  }

  /// 4 or 6 digits, or none; or a one-time code, where the request is proven by one.
  public func isSound(in request: HelperRequest) -> Bool {
    request.operation.row.proof == .code ? isCode : isSound
  }

  /// 4 or 6 digits, or none.
  public var isSound: Bool { read { Answer($0) } != .other }

  package var isCode: Bool { read { OneTimeCode.isCode($0) } }
}
