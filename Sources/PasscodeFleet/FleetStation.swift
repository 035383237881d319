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
    let (found, strangers) = try stationEntries(workstation)
    guard let entry = found, let counts = try counts(entry, strangers) else { return nil }
    return StationReport(
      failures: counts.failures, limit: options.stationLimit, strangers: counts.strangers,
      secondsStopped: isStopped(counts) ? try timeLeft(entry) / 1_000 : nil,
      secondsForOwners: isForOwners(counts) ? try timeLeft(entry) / 1_000 : nil)
  }

  /// Counts the workstations where no passcode is accepted, and those where only their owners' are (`StationOwners`).
  ///
  /// - Parameter names: as the servers' list has them.
  public func blockedStations(_ names: [Bytes]) throws(Fault) -> (stopped: UInt64, forOwners: UInt64) {
    var (stopped, forOwners): (UInt64, UInt64) = (0, 0)
    for start in stride(from: 0, to: names.count, by: Self.mostStations) {
      let part = names[start..<min(start + Self.mostStations, names.count)]
      var questions: [EtcdTransaction.Action] = []
      for name in part { questions += Self.questions(FleetServer.workstation(name)) }
      guard let outcome = try commit(EtcdTransaction(questions)), outcome.succeeded else {
        throw Fault.noEtcd
      }
      for index in 0..<part.count {
        guard let counts = try counts(outcome.entry(2 * index), outcome.entry(2 * index + 1)) else {
          continue
        }
        if isStopped(counts) { stopped += 1 }
        if isForOwners(counts) { forOwners += 1 }
      }
    }
    return (stopped, forOwners)
  }

  /// How many etcd is asked about at once: a transaction of etcd's has at most 128 operations.
  private static var mostStations: Int { 60 }

  private typealias Counts = (failures: UInt64, strangers: UInt64)

  /// What was counted in the same window; nil: nothing.
  private func counts(_ entry: EtcdEntry?, _ strangers: EtcdEntry?) throws(Fault) -> Counts? {
    guard let entry else { return nil }
    guard let count = StationCount(entry.value) else { throw Fault(.damagedRecord, path: entry.key) }
    let strangers = strangers.flatMap { StationCount($0.value) }
    return (count.failures, strangers?.window == count.window ? strangers?.failures ?? 0 : 0)
  }

  private func isStopped(_ counts: Counts) -> Bool { counts.failures >= options.stationLimit }

  private func isForOwners(_ counts: Counts) -> Bool {
    !isStopped(counts) && counts.strangers >= options.strangersLimit
  }

  private static func questions(_ workstation: Bytes) -> [EtcdTransaction.Action] {
    [.read(FleetKeys.station(workstation)), .read(FleetKeys.strangers(workstation))]
  }

  /// Deletes the count. The counts for each account and for strangers belong to its window, so they end, too. Attempts that
  /// are being checked no longer count there, but still count for their accounts.
  ///
  /// - Returns: whether there were any.
  public func unlock(station workstation: Bytes) throws(Fault) -> Bool {
    guard try stationEntries(workstation).count != nil else { return false }
    _ = try ask(EtcdTransaction([.delete(FleetKeys.station(workstation))]))
    return true
  }

  private func stationEntries(
    _ workstation: Bytes
  ) throws(Fault) -> (count: EtcdEntry?, strangers: EtcdEntry?) {
    let outcome = try ask(EtcdTransaction(Self.questions(workstation)))
    return (outcome.entry(0), outcome.entry(1))
  }
}
