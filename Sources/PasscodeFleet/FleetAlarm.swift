internal import PasscodeFleetPolicy
public import PasscodePolicy

// An alarm when wrong passcodes are typed for many accounts: a few common passcodes, tried on every account, stay below
// each account's limit and, from enough workstations, below each workstation's. It slows nothing down: otherwise, anyone
// could stop a whole fleet by typing wrong passcodes. It counts accounts, not which passcode was typed: etcd holds no
// digest of a passcode that isn't bound to its account.                                              FleetAlarmTests

extension FleetVault {
  /// How many accounts had a wrong passcode within the hour, and no correct one since.
  public func accountsWithWrong() throws(Fault) -> UInt64 { try readAlarm().count }

  private func readAlarm() throws(Fault) -> (count: UInt64, isGiven: Bool) {
    let question = EtcdTransaction([.count(prefix: FleetKeys.allWrong), .read(FleetKeys.alarm)])
    guard let outcome = try commit(question), outcome.succeeded else { throw Fault.noEtcd }
    return (outcome.count(0), outcome.entry(1) != nil)
  }

  /// For the timer of each server: etcd decides which server gives the alarm, at most once an hour.
  ///
  /// - Returns: how many accounts there are; nil: too few, or the alarm was given already.
  public func alarm() throws(Fault) -> UInt64? {
    let (count, isGiven) = try readAlarm()
    guard isAlarming(count), !isGiven else { return nil }
    let note = EtcdTransaction(
      if: [.unchanged(FleetKeys.alarm, revision: 0)],
      [.put(FleetKeys.alarm, value: [], lease: try lease(seconds: StationCount.seconds))])
    return try commit(note)?.succeeded == true ? count : nil
  }

  /// Whether this many accounts call for an alarm.
  public func isAlarming(_ count: UInt64) -> Bool { count >= options.alarmAccounts }
}
