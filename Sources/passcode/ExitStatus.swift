internal import PasscodePolicy
internal import PasscodeSystem

/// How the tool ended; scripts decide by it.
enum ExitStatus: Int32 {
  case done = 0
  case wrong = 1
  case usage = 2
  case notEnrolled = 3
  /// Locked, exhausted or disabled.
  case locked = 4
  /// Weak, mismatch or wrong length.
  case refused = 5
  case notPermitted = 6
  /// Store, key or configuration unusable.
  case unusable = 7
  case cancelled = 8
  /// A batch was done, but not for every user.
  case someFailed = 9
}

/// Why a command didn't do what it was asked: one line for stderr (what, where, what to do), and the status.
struct Failure: Error {
  let status: ExitStatus
  let text: Text
  /// Somebody else's attempt holds the record and doesn't move.
  var isBusy = false

  init(_ status: ExitStatus, _ text: Text) {
    self.status = status
    self.text = text
  }

  init(_ error: EnrolmentError) {
    switch error {
    case .fault(let fault): self.init(fault)
    case .refused: self.init(.refused, "no passcode was set: the configuration no longer allows it")
    }
  }

  init(_ fault: Fault) {
    status = .unusable
    text = Text(fault.text)
    isBusy = fault.kind == .busy
  }

}

// Those with more than one place.
extension Failure {
  static var cancelled: Failure { Failure(.cancelled, "cancelled; nothing was changed") }

  static var noAttempt: Failure { Failure(.refused, "a passcode is 4 or 6 digits; nothing was counted") }

  static var otherPerson: Failure {
    Failure(.notPermitted, "another user's passcode: only root can do that; run it with sudo")
  }

  static var notPermitted: Failure {
    Failure(.notPermitted, "another user's passcode: only that user and root can try it")
  }

  static var onlyRootForces: Failure { Failure(.notPermitted, "only root can use --force") }

  static func notEnrolled(_ account: Account) -> Failure {
    Failure(.notEnrolled, "no passcode is set for \(printable(account.name))")
  }

  /// What was asked for could not be printed: a full disk, a closed descriptor.
  static var unwritable: Failure { Failure(.unusable, "standard output can't be written") }
}

extension ExitStatus {
  /// What a verdict is to a script.
  init(_ verdict: Verdict) {
    switch verdict {
    case .granted: self = .done
    case .wrong: self = .wrong
    case .locked, .exhausted, .disabled: self = .locked
    case .notEnrolled: self = .notEnrolled
    case .notPermitted: self = .notPermitted
    case .unavailable: self = .unusable
    }
  }
}

/// Runs what the Vault does, and makes its faults ours.
func reporting<Value: ~Copyable>(_ body: () throws(Fault) -> Value) throws(Failure) -> Value {
  do throws(Fault) { return try body() } catch { throw Failure(error) }
}
