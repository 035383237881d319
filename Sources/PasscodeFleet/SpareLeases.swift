internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// Leases that a correct passcode has emptied, kept for the next attempts on this server. Without them, a look and an attempt send
/// etcd seven requests; with them three: two leases needn't be granted, one needn't be ended, and an etcd that has just granted one
/// needn't be asked whether it is full.
///
///     /var/lib/passcode-verifier/leases    0600 _passcode: the kernel's id of this boot (36 bytes), then 32 rows of 16 bytes,
///         little-endian: the moment before the lease was asked for (CLOCK_BOOTTIME, ms), and its number, 0: none. The first
///         16 rows are for a workstation's counts, the others for attempts. Byte 0 is locked by whoever reads or changes it
///
/// MUST (fleet):
/// 20  No lease has the keys of two attempts. One is kept only where etcd has said that the keys which it had are deleted,
///     or that they were not written; it is out of the file before it's used. A lease is used within a minute of being asked
///     for, an attempt's within 5 s, and etcd is asked for that much more: no count and no `busy` ends sooner for it. One
///     that nobody uses is ended by the timer.     SpareLeasesTests, test_right_passcodes_leave_one_lease_for_the_next_one
///
/// - Nobody waits for it longer than 20 ms: where the file can't be made, read, written or locked, or is of another boot, each
///   attempt has leases of its own.                                                                  SpareLeasesTests
struct SpareLeases {
  private static let milliseconds: UInt64 = 20
  private static let rows = 16
  private static let rowLength = 16
  private static let headLength = 36
  private static let length = headLength + 2 * rows * rowLength

  let path: Bytes
  let access: Access

  /// Whether there is one that is young enough.
  func has(_ use: AttemptLease.Use, now: UInt64) -> Bool {
    var found = false
    _ = changing { _, content throws(Errno) in
      for place in places(use) {
        if let lease = lease(use, content, place), lease.isFresh(now) { found = true }
      }
      return nil
    }
    return found
  }

  /// Takes one that is young enough; nil: there is none.
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

  /// Keeps one that has no keys.
  ///
  /// - Returns: the one that isn't kept any more, or isn't kept at all; nil: none.
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

  /// Takes out those that are too old to be used.
  func takeOld(now: UInt64) -> [AttemptLease] {
    var old: [AttemptLease] = []
    _ = changing { file, content throws(Errno) in
      for use in AttemptLease.Use.allCases {
        for place in places(use) {
          guard let lease = lease(use, content, place), !lease.isFresh(now) else { continue }
          try file.write(Bytes(repeating: 0, count: SpareLeases.rowLength), at: place)
          old.append(lease)
        }
      }
      return nil
    }
    return old
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
      let boot = try SystemClock.bootID()
      guard boot.count == SpareLeases.headLength else { return nil }
      var content = try file.read(SpareLeases.length, at: 0)
      if content.count != SpareLeases.length || Bytes(content.prefix(boot.count)) != boot {
        content = boot + Bytes(repeating: 0, count: SpareLeases.length - boot.count)
        try file.write(content, at: 0)
      }
      return try body(file, content)
    } catch {
      return nil
    }
  }
}

/// A lease that etcd has granted for what an attempt writes.
public struct AttemptLease: Equatable, Sendable {
  public enum Use: Int, CaseIterable, Sendable {
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
  /// A lease for what an attempt writes: one that another attempt has emptied, or a new one.
  func lease(_ use: AttemptLease.Use) throws(Fault) -> AttemptLease {
    guard let now = vault.clock.milliseconds() else { throw Fault(.noBootClock) }
    if let spare = spares?.take(use, now: now) { return spare }
    let time =
      switch use {
      case .count: StationCount.seconds + FleetLogin<Etcd>.leaseMargin
      case .attempt: FleetLogin<Etcd>.busySeconds
      }
    return AttemptLease(use: use, number: try lease(seconds: time + AttemptLease.longest(use)), since: now)
  }

  /// Whether etcd can be read only. One that granted an attempt's lease a few seconds ago wasn't full then, and isn't asked.
  var isFull: Bool {
    if let now = vault.clock.milliseconds(), spares?.has(.attempt, now: now) == true { return false }
    return etcd.isFull
  }

  /// Keeps leases that have no keys for the next attempts; ends those for which there is no use.
  public func keep(_ empty: [AttemptLease]) {
    guard let now = vault.clock.milliseconds() else { return }
    for lease in empty {
      if let left = spares == nil ? lease : spares?.keep(lease, now: now) { end(left) }
    }
  }

  /// Ends the leases that nobody has used.
  func endOldSpares() {
    guard let spares, let now = vault.clock.milliseconds() else { return }
    for lease in spares.takeOld(now: now) { end(lease) }
  }

  /// An attempt's lease ends soon by itself.
  private func end(_ lease: AttemptLease) {
    if lease.use == .count { etcd.endLease(lease.number) }
  }
}
