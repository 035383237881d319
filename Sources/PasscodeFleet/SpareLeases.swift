internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Leases that attempts have left without keys, kept for the next attempts on this server. A look and an attempt send etcd seven
/// requests. Within a minute after another attempt they send five: a count's lease needn't be granted, and none needs to be ended.
/// Within 5 s, they send three: the attempt's own lease isn't granted either, and etcd isn't asked whether it is full.
///
///     /var/lib/passcode-verifier/leases    0600 _passcode: the kernel's id of this boot (36 bytes), then 32 rows of 16 bytes,
///         little-endian: the moment before the lease was asked for (CLOCK_BOOTTIME, ms), and its number, 0: none. The first
///         16 rows are for a workstation's counts, the others for attempts. Byte 0 is locked by whoever reads or changes it
///
/// MUST (fleet):
/// 20  No lease has the keys of two attempts. One is kept only where etcd has said that the keys which it had are deleted,
///     or that they were not written; it is out of the file before it's used. A count's lease is used within a minute of
///     being asked for, an attempt's within 5 s, and etcd is asked for that much more time: no count and no `busy` ends sooner for
///     it, unless the server's machine is paused, or set back, from outside. A count's lease that nobody uses is ended by the
///     timer. None is ended while a count is under it.
///     SpareLeasesTests, test_right_passcodes_leave_one_lease_for_the_next_one
///
/// - Nobody waits longer than 20 ms for the file's lock. Where the file can't be made, read, written or locked, or once a charge
///   got no answer, an attempt has leases of its own. A file of another boot is begun anew.           SpareLeasesTests
public struct SpareLeases: Sendable {
  private static let milliseconds: UInt64 = 20
  private static let rows = 16
  private static let rowLength = 16
  private static let headLength = 36
  private static let length = headLength + 2 * rows * rowLength

  let path: Bytes
  let access: Access

  /// Whether a spare lease is kept that is young enough.
  func has(_ use: AttemptLease.Use, now: UInt64) -> Bool {
    do throws(Errno) {
      let file = try ServiceFile.openOrCreate(path)
      try ServiceFile.adopt(file, for: access)
      // Without the lock: a row that is just being written means one question more, or less.
      let content = try file.read(SpareLeases.length, at: 0)
      guard isSound(content) else { return false }
      for place in places(use) {
        if let lease = lease(use, content, place), lease.isFresh(now) { return true }
      }
    } catch {}
    return false
  }

  /// Takes a lease that is young enough out of the file; nil: no such lease is kept.
  ///
  /// - Parameter now: milliseconds of CLOCK_BOOTTIME.
  func take(_ use: AttemptLease.Use, now: UInt64) -> AttemptLease? {
    changing { file, content throws(Errno) in
      for place in places(use) {
        guard let lease = lease(use, content, place), lease.isFresh(now) else { continue }
        try file.write(Bytes(repeating: 0, count: SpareLeases.rowLength), at: place)
        return lease
      }
      return nil
    }
  }

  /// Writes a lease that has no keys into the file.
  ///
  /// - Returns: the lease that isn't kept any more, for it had the row; this lease, if there is no row for it; else nil.
  func keep(_ lease: AttemptLease, now: UInt64) -> AttemptLease? {
    guard lease.isFresh(now) else { return lease }
    var left: AttemptLease? = lease
    _ = changing { file, content throws(Errno) in
      for place in places(lease.use) {
        let old = self.lease(lease.use, content, place)
        if let old, old.isFresh(now) { continue }
        try file.write(littleEndian(lease.since, 8) + littleEndian(lease.number, 8), at: place)
        left = old
        return nil
      }
      return nil
    }
    return left
  }

  /// Takes a count's lease that is too old to be used out of the file; nil: no such lease is kept.
  func takeOld(now: UInt64) -> AttemptLease? {
    changing { file, content throws(Errno) in
      for place in places(.count) {
        guard let lease = lease(.count, content, place), !lease.isFresh(now) else { continue }
        try file.write(Bytes(repeating: 0, count: SpareLeases.rowLength), at: place)
        return lease
      }
      return nil
    }
  }

  private func places(_ use: AttemptLease.Use) -> StrideTo<Int> {
    let first = SpareLeases.headLength + use.rawValue * SpareLeases.rows * SpareLeases.rowLength
    let end = first + SpareLeases.rows * SpareLeases.rowLength
    return stride(from: first, to: end, by: SpareLeases.rowLength)
  }

  private func lease(_ use: AttemptLease.Use, _ content: Bytes, _ place: Int) -> AttemptLease? {
    let number = littleEndianNumber(content, place + 8, 8)
    guard number != 0 else { return nil }
    return AttemptLease(use: use, number: number, since: littleEndianNumber(content, place, 8))
  }

  /// Whether a file's content is whole, and of this boot.
  private func isSound(_ content: Bytes) -> Bool {
    guard let boot = try? SystemClock.bootID(), boot.count == SpareLeases.headLength else { return false }
    return content.count == SpareLeases.length && content.starts(with: boot)
  }

  /// Reads the file and lets it be changed, while no other process does; one of another boot is begun anew.
  private func changing(
    _ body: (borrowing Descriptor, Bytes) throws(Errno) -> AttemptLease?
  ) -> AttemptLease? {
    do throws(Errno) {
      let file = try ServiceFile.openOrCreate(path)
      try ServiceFile.adopt(file, for: access)
      guard try ServiceFile.lock(file, within: SpareLeases.milliseconds, pauses: 100...2_000) else {
        return nil
      }
      defer { RangeLock.unlock(file, at: 0, count: 1) }
      var content = try file.read(SpareLeases.length, at: 0)
      if !isSound(content) {
        let boot = try SystemClock.bootID()
        content = boot + Bytes(repeating: 0, count: max(0, SpareLeases.length - boot.count))
        try file.write(content, at: 0)
        guard isSound(content) else { return nil }
      }
      return try body(file, content)
    } catch {
      return nil
    }
  }
}

/// A lease that etcd has granted for what an attempt writes.
public struct AttemptLease: Equatable, Sendable {
  public enum Use: Int, Sendable {
    /// A workstation's counts: an hour.
    case count
    /// What lasts as long as the attempt.
    case attempt
  }

  let use: Use
  let number: UInt64
  /// The moment before it was asked for: milliseconds of CLOCK_BOOTTIME.
  let since: UInt64

  /// Seconds after which it isn't used any more.
  static func longest(_ use: Use) -> UInt64 { use == .count ? 60 : 5 }

  func isFresh(_ now: UInt64) -> Bool {
    now >= since && now - since <= AttemptLease.longest(use) * 1_000
  }
}

extension FleetVault {
  private static var milliseconds: UInt64 { 3_000 }

  /// A lease for what an attempt writes: one that another attempt has emptied, or a new one.
  func lease(_ use: AttemptLease.Use, isNew: Bool) throws(Fault) -> AttemptLease {
    guard let now = vault.clock.milliseconds() else { throw Fault(.noBootClock) }
    if !isNew, let spare = spares.take(use, now: now) { return spare }
    let time =
      switch use {
      case .count: StationCount.seconds + FleetLogin<Etcd>.leaseMargin
      case .attempt: FleetLogin<Etcd>.busySeconds
      }
    return AttemptLease(use: use, number: try lease(seconds: time + AttemptLease.longest(use)), since: now)
  }

  /// Whether etcd can be read only. One that granted an attempt's lease a few seconds ago wasn't full then, and isn't asked.
  var isFull: Bool {
    if let now = vault.clock.milliseconds(), spares.has(.attempt, now: now) { return false }
    return etcd.isFull
  }

  /// Keeps leases that have no keys for the next attempts; ends those for which there is no use.
  public func keep(_ empty: [AttemptLease]) {
    guard let now = vault.clock.milliseconds() else { return }
    for lease in empty {
      if let left = spares.keep(lease, now: now) { end(left) }
    }
  }

  /// Ends the leases that nobody has used; the others' turn comes in a minute.
  func endOldSpares() {
    guard let start = vault.clock.milliseconds() else { return }
    while let now = vault.clock.milliseconds(), now - start < Self.milliseconds,
      let lease = spares.takeOld(now: now)
    { end(lease) }
  }

  /// An attempt's lease ends soon by itself. The file may be older than etcd: then a count may be under the lease again.
  private func end(_ lease: AttemptLease) {
    guard lease.use == .count, let found = etcd.lease(lease.number),
      !found.keys.contains(where: FleetKeys.isKept)
    else { return }
    etcd.endLease(lease.number)
  }
}
