public import PasscodeFleetPolicy

/// An etcd, as a fleet needs it: the one of this server, or one in memory for tests.
///
/// It sends nothing twice. An answer that is nil says nothing: what was asked may have been carried out, or may still be.
public protocol EtcdStore: AnyObject {
  /// Linearizable; acknowledged only once it is on the disks of a majority.
  func commit(_ transaction: EtcdTransaction) -> EtcdOutcome?

  /// A lease of at least so many seconds; not 0.
  func grantLease(seconds: UInt64) -> UInt64?

  /// Seconds; 0: it is over.
  func timeLeft(_ lease: UInt64) -> UInt64?

  /// Ends a lease, and deletes the keys that it has.
  func endLease(_ lease: UInt64)

  /// Whether it has said that its database is full: then it can still be read, and nothing can be charged.
  var isFull: Bool { get }

  /// The numbers of all leases in etcd.
  func leases() -> [UInt64]?

  /// What etcd tells of one lease: its time, and the keys that end with it.
  func lease(_ lease: UInt64) -> EtcdLease?
}
