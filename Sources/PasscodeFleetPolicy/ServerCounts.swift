public import PasscodePolicy

/// What the verifiers of one server have counted, for `passcode server metrics`:
///
///     /var/lib/passcode-verifier/counts-1    numbers of 8 bytes, little-endian, always `length` bytes:
///         for each operation, for each verdict    replies
///         for each cause                          replies that were `unavailable`
///         for each operation, for each limit      replies that took at most that long; then those that took longer
///         for each operation                      milliseconds of all its replies
///
/// - No name is in it, and nothing that anybody asks makes it longer.                 ServerCountsTests, test_metrics.py
/// - New numbers are only appended; any other layout needs another file name.
public struct ServerCounts: Equatable, Sendable {
  /// The operation that a workstation asked for.
  public enum Operation: Int, CaseIterable, Sendable {
    /// What can be decided before a passcode is asked for.
    case look
    /// A passcode to log in with.
    case login
    /// The old passcode before a change, which opens nothing.
    case proof
    /// A new passcode, with the old one.
    case change
    /// A new passcode, with a one-time code.
    case code
  }

  /// The verdict that a reply contains, as a workstation reads it.
  public enum Verdict: Int, CaseIterable, Sendable {
    /// A look found no reason not to ask for a passcode.
    case open
    /// The passcode or the code was correct, and what was asked for was done.
    case granted
    case wrong, locked, exhausted, disabled, notEnrolled, notPermitted, workstationLocked
    /// No one-time code is valid for the account.
    case noCode
    /// The new passcode is not allowed.
    case refused
    case unavailable
  }

  /// Why a reply was `unavailable`.
  public enum Cause: Int, CaseIterable, Sendable {
    case etcd, etcdRestored, fleetKey, notListed, tooManyRequests, hashingSlots, memory, other
  }

  /// The limits of the histogram, in milliseconds.
  public static let limits: [UInt64] = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000]
  public static let length = 8 * count

  private static let operations = Operation.allCases.count
  private static let firstCause = operations * Verdict.allCases.count
  private static let firstDuration = firstCause + Cause.allCases.count
  private static let firstSum = firstDuration + operations * (limits.count + 1)
  private static let count = firstSum + operations

  private var numbers: [UInt64]

  public init() {
    numbers = [UInt64](repeating: 0, count: ServerCounts.count)
  }

  /// Decodes the numbers of a file; those that the file lacks are 0.
  public init(_ bytes: Bytes) {
    self.init()
    for index in numbers.indices where bytes.count >= 8 * (index + 1) {
      numbers[index] = littleEndianNumber(bytes, 8 * index, 8)
    }
  }

  public var encoded: Bytes { numbers.flatMap { littleEndian($0, 8) } }

  /// Counts a reply. A question about a passcode's state isn't counted.
  ///
  /// - Parameter milliseconds: from the end of the request to its reply.
  public mutating func add(_ request: HelperOperation, _ reply: HelperReply.Kind, milliseconds: UInt64) {
    guard let operation = Operation(request), let verdict = Verdict(reply) else { return }
    let place = ServerCounts.limits.firstIndex { milliseconds <= $0 } ?? ServerCounts.limits.count
    numbers[ServerCounts.index(operation, verdict)] += 1
    numbers[ServerCounts.duration(operation, place)] += 1
    numbers[ServerCounts.firstSum + operation.rawValue] += milliseconds
  }

  /// Counts why a reply is `unavailable`.
  public mutating func add(_ reason: Fault.Reason) {
    numbers[ServerCounts.firstCause + Cause(reason).rawValue] += 1
  }

  public mutating func add(_ other: ServerCounts) {
    for index in numbers.indices { numbers[index] &+= other.numbers[index] }
  }

  public func replies(_ operation: Operation, _ verdict: Verdict) -> UInt64 {
    numbers[ServerCounts.index(operation, verdict)]
  }

  public func unavailable(_ cause: Cause) -> UInt64 { numbers[ServerCounts.firstCause + cause.rawValue] }

  /// - Parameter place: an index in `limits`; their count stands for those that took longer than the last limit.
  /// - Returns: replies that took longer than the limit before this one, and at most as long as this one.
  public func duration(_ operation: Operation, _ place: Int) -> UInt64 {
    numbers[ServerCounts.duration(operation, place)]
  }

  public func milliseconds(_ operation: Operation) -> UInt64 {
    numbers[ServerCounts.firstSum + operation.rawValue]
  }

  private static func index(_ operation: Operation, _ verdict: Verdict) -> Int {
    operation.rawValue * Verdict.allCases.count + verdict.rawValue
  }

  private static func duration(_ operation: Operation, _ place: Int) -> Int {
    firstDuration + operation.rawValue * (limits.count + 1) + place
  }
}

extension ServerCounts.Operation {
  fileprivate init?(_ operation: HelperOperation) {
    switch operation {
    case .look: self = .look
    case .verify: self = .login
    case .prove: self = .proof
    case .change: self = .change
    case .enrollByCode: self = .code
    case .status, .remove, .enroll, .unlock, .pause, .resume: return nil
    }
  }
}

extension ServerCounts.Verdict {
  fileprivate init?(_ reply: HelperReply.Kind) {
    switch reply {
    case .openWaiting, .openEnding: self = .open
    case .granted, .done: self = .granted
    case .wrong, .wrongAndLocked, .wrongAndExhausted: self = .wrong
    case .locked: self = .locked
    case .exhausted: self = .exhausted
    case .disabled: self = .disabled
    case .notEnrolled: self = .notEnrolled
    case .notPermitted, .notAdministrators, .beforeLogin: self = .notPermitted
    case .stationLocked: self = .workstationLocked
    case .noCode: self = .noCode
    case .refused: self = .refused
    case .unavailable: self = .unavailable
    case .status, .statusWithTerms, .wrongPassword, .closed, .passwordIsDigits, .expired, .mustChange,
      .paused, .passwordDue, .fingerNeeded:
      return nil
    }
  }
}

extension ServerCounts.Cause {
  fileprivate init(_ reason: Fault.Reason) {
    switch reason {
    case .noEtcd: self = .etcd
    case .fleetRestored: self = .etcdRestored
    case .fleetEpoch: self = .fleetKey
    case .notListed: self = .notListed
    case .tooManyRequests: self = .tooManyRequests
    case .noHashingSlot: self = .hashingSlots
    case .noMemory, .noMemoryToVerify, .noMemoryToHash, .hashingFailed: self = .memory
    default: self = .other
    }
  }
}
