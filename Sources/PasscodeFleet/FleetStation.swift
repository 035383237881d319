internal import PasscodeFleetPolicy
public import PasscodePolicy

// What an administrator does about a workstation's wrong passcodes (`StationCount`). Tests: FleetStationTests.

/// The wrong passcodes of a workstation, over all accounts.
public struct StationReport: Equatable, Sendable {
  public let failures: UInt64
  /// Seconds for which no passcode is taken there; nil: it isn't stopped.
  public let secondsStopped: UInt64?
}

extension FleetVault {
  /// The wrong passcodes of a workstation; nil if it had none in this hour.
  public func station(_ workstation: Bytes) throws(Fault) -> StationReport? {
    guard let entry = try stationEntry(workstation) else { return nil }
    guard let count = StationCount(entry.value) else { throw Fault(.damagedRecord, path: entry.key) }
    let left = count.isFull ? try timeLeft(entry) / 1_000 : nil
    return StationReport(failures: count.failures, secondsStopped: left)
  }

  /// Forgets them, and with them those of each account there, which count in the same window only. Those that are being
  /// checked are no longer counted there, either; for their accounts they are.
  ///
  /// - Returns: whether there were any.
  public func unlock(station workstation: Bytes) throws(Fault) -> Bool {
    guard try stationEntry(workstation) != nil else { return false }
    let deletion = EtcdTransaction([.delete(FleetKeys.station(workstation))])
    // Asked twice: what is deleted stays so.
    var outcome = try commit(deletion)
    if outcome == nil { outcome = try commit(deletion) }
    guard let outcome, outcome.succeeded else { throw Fault.noEtcd }
    return true
  }

  private func stationEntry(_ workstation: Bytes) throws(Fault) -> EtcdEntry? {
    let question = EtcdTransaction([.read(FleetKeys.station(workstation))])
    var outcome = try commit(question)
    if outcome == nil { outcome = try commit(question) }
    guard let outcome, outcome.succeeded else { throw Fault.noEtcd }
    return outcome.entry(0)
  }
}
