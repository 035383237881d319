internal import PasscodeFleetPolicy
public import PasscodePolicy

// What an administrator, and a workstation, is told of an account. Tests: FleetAdministrationTests, FleetListTests.

extension FleetVault {
  public func status(_ account: Bytes) throws(Fault) -> HelperStatus {
    let state = try read(account, nowhere)
    return try status(state.record, state.wait)
  }

  private func status(_ record: FleetRecord?, _ wait: EtcdEntry?) throws(Fault) -> HelperStatus {
    guard let record else {
      return HelperStatus(.ok, isEnrolled: false)
    }
    let isEnrolled = record.record.state != .removed
    let left = try wait.map { (entry) throws(Fault) in try timeLeft(entry) } ?? 0
    let said: HelperStatus.State
    if record.record.disabled {
      said = .disabled
    } else if isEnrolled && record.epoch != key.epoch {
      said = .exhausted
    } else {
      said = left > 0 ? .locked : .ok
    }
    var status = HelperStatus(said, of: record.record)
    if said == .locked { status.milliseconds = left }
    return status
  }

  /// Reads what etcd has of one account, for administrators.
  public func report(_ account: Bytes) throws(Fault) -> FleetReport {
    let state = try read(account, nowhere)
    return try report(account, state.record, state.wait, state.code)
  }

  func report(
    _ account: Bytes, _ record: FleetRecord?, _ wait: EtcdEntry?, _ entry: EtcdEntry?
  ) throws(Fault) -> FleetReport {
    var report = FleetReport(account: account, status: try status(record, wait))
    if let code = try code(entry), let left = etcd.timeLeft(code.entry.lease) { report.codeSeconds = left }
    return report
  }
}

extension HelperStatus {
  /// What a workstation may know before a code is typed there: whether it may be, and how many wrong ones there were. Not
  /// when somebody has logged in, and where: a workstation may ask about everybody.        FleetAdministrationTests
  public var forWorkstation: HelperStatus {
    var told = HelperStatus(state, isEnrolled: isEnrolled)
    told.failures = failures
    told.milliseconds = milliseconds
    return told
  }
}

/// What administrators are told of one account of a fleet.
public struct FleetReport: Sendable {
  public let account: Bytes
  public let status: HelperStatus
  /// Seconds that a one-time code is still valid; nil: there is none.
  public internal(set) var codeSeconds: UInt64?

  /// Whether anything can be done about it: a record alone, of a passcode that was removed, is nothing.
  public var isAnything: Bool { status.isEnrolled || codeSeconds != nil || status.state != .ok }
}
