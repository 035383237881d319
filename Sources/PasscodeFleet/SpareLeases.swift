internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

/// Leases that attempts have left without keys, kept for the next attempts on this server. A look and an attempt with the
/// correct passcode send etcd seven requests. Within a minute after another correct one they send five: a count's lease
/// needn't be granted, and none needs to be ended. Within 5 s, they send three: the attempt's own lease isn't granted either,
/// and etcd isn't asked whether it is full.
///
///     /var/lib/passcode-verifier/leases    0600 _passcode: the kernel's id of this boot (36 bytes), then 32 rows of 16 bytes,
///         little-endian: the moment before the lease was asked for (CLOCK_BOOTTIME, ms), and the lease's number (0: the row
///         is empty). The first 16 rows are for a workstation's counts, the others for attempts. Byte 0 is locked by whoever
///         reads or changes it
///
/// MUST (fleet):
/// 20  No attempt gets a spare lease that has another's keys. One is kept only where etcd has said that they are gone, or were
///     never written, and it is taken out of the file before it is used. A count's lease is used within a minute of being
///     asked for, an attempt's within 5 s. etcd grants each for that much longer, so no count and no `busy` ends sooner,
///     unless the server's machine is paused or set back from outside. A count's lease that is left in the file is ended by
///     the timer, if no count is found under it.
///     SpareLeasesTests, FleetInterleavingTests, test_right_passcodes_leave_one_lease_for_the_next_one
///
/// - Nobody waits longer than 20 ms for the file's lock. Where the file can't be made, read, written or locked, or after a
///   charge that got no answer, the attempt gets new leases. A file of another boot is begun anew.    SpareLeasesTests
public struct SpareLeases: Sendable {
  private static let milliseconds: UInt64 = 20
  private static let rows = 16
  private static let rowLength = 16
  private static let headLength = 36
  private static let length = headLength + 2 * rows * rowLength

  let path: Bytes
  let access: Access

  /// Whether a spare lease is kept that is young enough.
  ///
  /// - Parameter now: milliseconds of CLOCK_BOOTTIME.
  func has(_ use: AttemptLease.Use, now: UInt64) -> Bool {
    row(of: use) { $0?.isFresh(now) == true } != nil
  }

  /// Takes a lease that is young enough out of the file; nil: no such lease is kept.
  func take(_ use: AttemptLease.Use, now: UInt64) -> AttemptLease? {
    row(of: use, replacedBy: Row(lease: nil)) { $0?.isFresh(now) == true }?.lease
  }

  /// Takes a count's lease that is too old to be used out of the file; nil: no such lease is kept.
  func takeOld(now: UInt64) -> AttemptLease? {
    row(of: .count, replacedBy: Row(lease: nil)) { $0?.isFresh(now) == false }?.lease
  }

  /// Writes a lease that has no keys into the file.
  ///
  /// - Returns: a lease that isn't in the file now: the old one of that row, or this one if it wasn't kept; else nil.
  func keep(_ lease: AttemptLease, now: UInt64) -> AttemptLease? {
    guard lease.isFresh(now),
      let old = row(of: lease.use, replacedBy: Row(lease: lease), where: { $0?.isFresh(now) != true })
    else { return lease }
    return old.lease
  }

  private struct Row {
    let lease: AttemptLease?
  }

  /// Finds the first row of a use that is wanted, and may replace it; no other process does so meanwhile.
  ///
  /// - Returns: the row as it was; nil: none is wanted, or the file can't be used.
  @inline(never)
  private func row(
    of use: AttemptLease.Use, replacedBy new: Row? = nil, where isWanted: (AttemptLease?) -> Bool
  ) -> Row? {
    do throws(Errno) {
      let file = try ServiceFile.openOrCreate(path)
      try ServiceFile.adopt(file, for: access)
      guard try ServiceFile.lock(file, within: SpareLeases.milliseconds, pauses: 100...2_000) else {
        return nil
      }
      defer { ByteLock.unlock(file, at: 0) }
      let content = try content(file)
      for row in 0..<SpareLeases.rows {
        let place = SpareLeases.headLength + (use.rawValue * SpareLeases.rows + row) * SpareLeases.rowLength
        let number = littleEndianNumber(content, place + 8, 8)
        let since = littleEndianNumber(content, place, 8)
        let lease = number == 0 ? nil : AttemptLease(use: use, number: number, since: since)
        guard isWanted(lease) else { continue }
        if let new {
          let (number, since) = (new.lease?.number ?? 0, new.lease?.since ?? 0)
          try file.write(littleEndian(since, 8) + littleEndian(number, 8), at: place)
        }
        return Row(lease: lease)
      }
    } catch {}
    return nil
  }

  /// Reads the file; one that is cut short, or of another boot, is begun anew.
  @inline(never)
  private func content(_ file: borrowing Descriptor) throws(Errno) -> Bytes {
    let boot = try SystemClock.bootID()
    guard boot.count == SpareLeases.headLength else { throw .denied }
    let content = try file.read(SpareLeases.length, at: 0)
    if content.count == SpareLeases.length, content.starts(with: boot) { return content }
    let empty = boot + Bytes(repeating: 0, count: SpareLeases.length - SpareLeases.headLength)
    try file.write(empty, at: 0)
    return empty
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
  /// The longest time, in milliseconds, for which the timer begins to end spare leases.
  private static var longestEnding: UInt64 { 3_000 }

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

  /// Whether etcd can only be read. One that granted an attempt's lease in the last 5 s wasn't full then, and isn't asked.
  var isFull: Bool {
    if let now = vault.clock.milliseconds(), spares.has(.attempt, now: now) { return false }
    return etcd.isFull
  }

  /// Keeps leases without keys for the next attempts; ends a count's lease that can't be kept.
  public func keep(_ empty: [AttemptLease?]) {
    guard let now = vault.clock.milliseconds() else { return }
    for case let lease? in empty {
      if let left = spares.keep(lease, now: now) { end(left) }
    }
  }

  /// Ends spare leases of counts that are too old to be used; those that it doesn't get to have their turn in a minute.
  func endOldSpares() {
    guard let start = vault.clock.milliseconds() else { return }
    while let now = vault.clock.milliseconds(), now - start < Self.longestEnding,
      let lease = spares.takeOld(now: now)
    { end(lease) }
  }

  /// An attempt's lease soon ends by itself. If the machine was set back, the file is older than etcd: a count may be there.
  private func end(_ lease: AttemptLease) {
    guard lease.use == .count, let found = etcd.lease(lease.number),
      !found.keys.contains(where: FleetKeys.isKept)
    else { return }
    etcd.endLease(lease.number)
  }
}
