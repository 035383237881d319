internal import PasscodeFleetPolicy
internal import PasscodePolicy

// What keeps a delay from being shorter than it says; the argument is in FleetLogin.swift.

extension FleetLogin where Etcd: EtcdStore {
  private static var mostLeases: Int { 3 }

  /// Makes sure that `wait` stays for the whole delay, counted from the charge, which is recorded by now.
  ///
  /// - Returns: the delay, with the lease that `wait` has in the end.
  /// - Throws: a fault if that can't be known: then nothing may be hashed.
  func hold(_ delay: FleetDelay, _ charge: FleetCharge) throws(Fault) -> FleetDelay {
    var delay = delay
    for _ in 0..<Self.mostLeases {
      if try fleet.secondsLeft(delay.lease) >= delay.seconds { return delay }
      delay = FleetDelay(
        seconds: delay.seconds, lease: try fleet.lease(seconds: delay.seconds + Self.leaseMargin))
      let renewal = EtcdTransaction(
        if: [.unchanged(FleetKeys.record(account), revision: charge.revision)],
        [.put(FleetKeys.wait(account), value: charge.id, lease: delay.lease)])
      // Carried out late, it makes the delay longer: no one has charged then.
      guard let outcome = try fleet.commit(renewal) else { throw Fault.noEtcd }
      guard outcome.succeeded else { throw Fault(.changedMeanwhile) }
    }
    throw Fault.noEtcd
  }

  /// What a wrong passcode has led to. A delay is told as it is now: the hash took its time.
  func standing(_ charge: FleetCharge) -> Standing {
    let standing = fleet.schedule(after: charge.record.record.ledger.failures)
    guard let delay = charge.delay, let left = fleet.etcd.timeLeft(delay.lease) else { return standing }
    return .locked(milliseconds: min(max(left, 1), delay.seconds) * 1_000)
  }
}
