internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// How far etcd has come, and the fleet's epoch: what keeps a snapshot from refunding guesses. Tests: FleetSnapshotTests.

extension FleetVault {
  /// Notes how far etcd has come, reports this server to etcd (`ServerNote`), keeps etcd's leases from starting anew, and
  /// ends this server's spare leases that are too old. For a timer: without that, a server that nobody asks would accept a
  /// snapshot that was restored.
  ///
  /// - Parameter isTold: an administrator says that this server is new, and that etcd wasn't restored.
  /// - Returns: the fleet's epoch.
  /// - Throws: a fault, too, if etcd comes from the past, or this server's key is of an earlier epoch; or if this server
  ///   has seen nothing yet, isn't told, and etcd has passcodes: they may come from a snapshot.
  @discardableResult
  public func noteEpoch(isTold: Bool = false) throws(Fault) -> UInt64 {
    if seen.isEmpty && !isTold { try refuseUnlessNew() }
    let epoch = try checkEpoch()
    noteServer()
    keepLeases()
    endOldSpares()
    return epoch
  }

  /// What is read here isn't noted: it only decides whether this server may begin to note anything.
  private func refuseUnlessNew() throws(Fault) {
    let question = EtcdTransaction([.count(prefix: FleetKeys.accounts), .read(FleetKeys.epoch)])
    guard let outcome = etcd.commit(question), outcome.succeeded else { throw Fault.noEtcd }
    guard outcome.count(0) == 0, outcome.entry(1) == nil else {
      throw Fault(.fleetRestored, path: SeenFile.usualPath, error: Errno.stale.code)
    }
  }

  /// Writes nothing into etcd.
  ///
  /// - Returns: the fleet's epoch.
  /// - Throws: a fault, too, if etcd comes from the past, or this server's key is of an earlier epoch.
  @discardableResult
  public func checkEpoch() throws(Fault) -> UInt64 {
    let (epoch, _) = try fleetEpoch()
    if epoch > key.epoch { throw key.later }
    return epoch
  }

  /// Makes servers whose key is of an earlier epoch refuse everything. For root, once this server's epoch was raised.
  ///
  /// - Returns: the fleet's epoch; a later one than the key's if other servers have come further.
  public func declareEpoch() throws(Fault) -> UInt64 {
    let wait = newWait
    while true {
      let (epoch, revision) = try fleetEpoch()
      if epoch >= key.epoch { return epoch }
      let declaration = EtcdTransaction(
        if: [.unchanged(FleetKeys.epoch, revision: revision)],
        [.put(FleetKeys.epoch, value: Text("\(key.epoch)").bytes, lease: 0)])
      _ = try commit(declaration)
      guard case .again = wait.pause({ littleEndian(epoch, 8) + littleEndian(revision, 8) }) else {
        throw Fault.noEtcd
      }
    }
  }

  private func fleetEpoch() throws(Fault) -> (UInt64, revision: UInt64) {
    let outcome = try ask(EtcdTransaction([.read(FleetKeys.epoch)]))
    return try FleetState.epoch(outcome.entry(0))
  }
}
