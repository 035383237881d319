internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// What follows when no answer to a charge came: it may have been carried out, or may still be.
//
// A charge depends on the record's revision, and a revision that has passed never comes back. One transaction, the
// fence, can therefore both look for the charge and keep it from arriving later: if the record is still as it was read,
// it is written again, unchanged but for a fresh id; if not, it is read.
//
//     carried out, or the record is another one by now     the charge can't arrive any more; the attempt starts again
//     the record has the charge's id                        it was charged
//     no answer                                             the fence is sent again, and never the charge
//
// A fence that arrives twice, or late, finds another revision and writes nothing.

extension FleetLogin where Etcd: EtcdStore {
  /// Seconds that `busy` must still have when a lost charge has been found, so that the hash ends before it does.
  static var hashSeconds: UInt64 { busySeconds / 2 }

  /// - Parameter read: what the charge depended on.
  /// - Returns: the revision of the charge; nil: it can't arrive any more.
  /// - Throws: a fault if that isn't known within the attempt's time for lost charges.
  func fence(_ id: Bytes, _ record: FleetRecord, _ read: FleetState) throws(Fault) -> UInt64? {
    var unchanged = record
    unchanged.record.attemptID = randomBytes(Record.attemptIDLength, vault.sodium)
    let fence = EtcdTransaction(
      if: [.unchanged(FleetKeys.record(account), revision: read.revision)],
      [.put(FleetKeys.record(account), value: unchanged.encoded(recordCodec), lease: 0)],
      otherwise: FleetState.questions(account, workstation))
    repeat {
      guard let outcome = try fleet.commit(fence) else { continue }
      if !outcome.succeeded {
        let now = try fleet.state(outcome, account)
        if now.record?.record.attemptID == id { return now.revision }
      }
      charges.mayBeThere = false
      if charges.isTimeOver { throw Fault.noEtcd }
      return nil
    } while charges.pause()
    throw Fault.noEtcd
  }

  /// A charge that was found is hashed only if no other attempt can begin before that ends; and one that starts a delay, only
  /// if nothing has been noted of that yet (FleetVault+Leases.swift). If not, it stays, and nothing is verified.
  ///
  /// - Parameters:
  ///   - busy: the lease of `busy`.
  ///   - least: seconds.
  func checkTime(_ busy: UInt64, least: UInt64) throws(Fault) {
    guard try fleet.secondsLeft(busy) >= least else { throw Fault.noEtcd }
  }
}

/// What is known of an attempt's account and charges, and how long to go on once the answer to a charge was lost.
final class Charges {
  /// Milliseconds.
  private static let longest: UInt64 = 30_000

  private let clock: Clock
  private var started: UInt64?
  /// Whether a charge may have been carried out, or may still be.
  var mayBeThere = false
  /// Identifies this account in the workstation's `StationOwners`.
  var mark = Bytes()
  /// Whether a charge got no answer: a spare lease may be the reason, so the next charge gets new ones.
  var isUnsure = false
  /// Leases whose keys etcd has deleted.
  var emptied: [AttemptLease?] = []

  init(_ clock: Clock) {
    self.clock = clock
  }

  /// Whether none is left, counted from the first call.
  var isTimeOver: Bool {
    guard let now = clock.milliseconds() else { return true }
    let start = started ?? now
    started = start
    return now - start >= Charges.longest
  }

  /// Sleeps a little.
  ///
  /// - Returns: false if no time is left.
  func pause() -> Bool {
    if isTimeOver { return false }
    clock.sleep(100)
    return true
  }
}
