internal import PasscodeFleetPolicy
public import PasscodePolicy

// What an administrator does about a workstation's wrong passcodes (`StationCount`). Tests: FleetStationTests.

/// The wrong passcodes of a workstation, over all accounts.
public struct StationReport: Equatable, Sendable {
  public let failures: UInt64
  public let limit: UInt64
  /// Wrong passcodes for strangers (`StationOwners`), which `failures` contains.
  public let strangers: UInt64
  /// Seconds for which no passcode is taken there; nil: it isn't stopped.
  public let secondsStopped: UInt64?
  /// Seconds for which only owners' passcodes are accepted there; nil: no such limit.
  public let secondsForOwners: UInt64?
}

extension FleetVault {
  /// The wrong passcodes of a workstation; nil if it had none in this hour.
  public func station(_ workstation: Bytes) throws(Fault) -> StationReport? {
    let (found, foundStrangers) = try stationEntries(workstation)
    guard let entry = found else { return nil }
    guard let count = StationCount(entry.value) else { throw Fault(.damagedRecord, path: entry.key) }
    let strangers = foundStrangers.flatMap { StationCount($0.value) }
    let counted = strangers?.window == count.window ? strangers?.failures ?? 0 : 0
    let isFull = count.failures >= options.stationLimit
    let isForOwners = !isFull && counted >= options.strangersLimit
    return StationReport(
      failures: count.failures, limit: options.stationLimit, strangers: counted,
      secondsStopped: isFull ? try timeLeft(entry) / 1_000 : nil,
      secondsForOwners: isForOwners ? try timeLeft(entry) / 1_000 : nil)
  }

  /// Deletes the count. The counts for each account and for strangers belong to its window, so they end, too. Attempts that
  /// are being checked no longer count there, but still count for their accounts.
  ///
  /// - Returns: whether there were any.
  public func unlock(station workstation: Bytes) throws(Fault) -> Bool {
    guard try stationEntries(workstation).count != nil else { return false }
    let deletion = EtcdTransaction([.delete(FleetKeys.station(workstation))])
    // Asked twice: what is deleted stays so.
    var outcome = try commit(deletion)
    if outcome == nil { outcome = try commit(deletion) }
    guard let outcome, outcome.succeeded else { throw Fault.noEtcd }
    return true
  }

  private func stationEntries(
    _ workstation: Bytes
  ) throws(Fault) -> (count: EtcdEntry?, strangers: EtcdEntry?) {
    let question = EtcdTransaction([
      .read(FleetKeys.station(workstation)), .read(FleetKeys.strangers(workstation)),
    ])
    var outcome = try commit(question)
    if outcome == nil { outcome = try commit(question) }
    guard let outcome, outcome.succeeded else { throw Fault.noEtcd }
    return (outcome.entry(0), outcome.entry(1))
  }
}
