public import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

/// Keeps how far this server has seen etcd come: `FleetSeen`.
///
/// - What is kept MUST be read before etcd is asked: another process may have seen more by the time the answer comes.
/// - An etcd whose revision was behind once MUST be refused until `restored`: it would catch up while others use it.
///                                                                                          FleetSnapshotTests
/// - It is written without a sync, in place: a power cut may lose the latest ones, but a snapshot is older than those.
/// - A server that has seen nothing MUST refuse every etcd: otherwise, once its files are lost, it would believe a
///   snapshot. Only `seen` and `restored`, which root runs, make the file.                   FleetSnapshotTests
/// - What other servers have seen (`seen --at-least`) MUST only raise it.   FleetSnapshotTests, test_verifier_seen.py
/// - A wait for another process ends after 2 s.                                             test_verifier_seen.py
public final class SeenFile {
  /// What a server does that has seen nothing of etcd yet.
  public enum Start: Sendable {
    /// Every answer is refused.
    case refused
    /// The file is made, and the first answer is believed. For root.
    case allowed
  }

  private static let milliseconds: UInt64 = 2_000

  private let path: Bytes
  private let file: Descriptor
  private let start: Start
  private var floor: FleetSeen?

  public static var usualPath: Bytes { Bytes(text: "/var/lib/passcode-verifier/seen") }

  /// Opens the file, which root gives to the service account.
  ///
  /// - Throws: `missing` if it isn't there, unless `start` is `allowed`; a fault if it isn't a plain file with one name, or
  ///   is somebody else's. For root it is the service account's, or, if it is still empty, root's own, which root gives to
  ///   that account. (The folder is the account's, so the name may be a hard link to any file, or a file that was moved.)
  public init(_ path: Bytes, for access: Access, _ start: Start = .refused) throws(Fault) {
    self.path = path
    self.start = start
    do throws(Errno) {
      if start == .allowed { try SeenFile.create(path) }
      file = try Descriptor.open(path, .readWrite)
      try ServiceFile.adopt(file, for: access)
      let content = try file.read(FleetSeen.length, at: 0)
      floor = FleetSeen(content)
      if floor == nil && !content.isEmpty { throw Errno.invalid }
    } catch {
      if error == .noEntry { throw Fault(.missing, path: path) }
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  private static func create(_ path: Bytes) throws(Errno) {
    do throws(Errno) { _ = try Descriptor.open(path, .create(mode: 0o600)) } catch {
      if error != .exists { throw error }
    }
  }

  /// Whether this server has seen nothing of etcd yet.
  var isEmpty: Bool { floor == nil }

  /// Takes note of where an answer comes from.
  ///
  /// - Throws: a fault if it comes from the past, or from another cluster, or if that can't be noted; and if nothing was
  ///   seen before, unless `start` is `allowed`.
  func take(_ origin: EtcdOrigin) throws(Fault) {
    if floor == nil && start == .refused { throw Fault(.missing, path: path) }
    if let floor, floor.next(origin) == nil {
      // Where this can't be written, this answer is refused all the same, but not one after etcd has caught up.
      if floor.isBehind(origin) { try? refuseFromNowOn(floor) }
      throw restored
    }
    let next = FleetSeen(origin)
    if next == floor { return }
    let isKept: Bool
    do throws(Errno) { isKept = try write(next) } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    if !isKept { throw restored }
    floor = next
  }

  private var restored: Fault { Fault(.fleetRestored, path: path, error: Errno.stale.code) }

  /// Another process may have written more, or may be writing: what is highest stays.
  ///
  /// - Returns: false where another process has found that etcd was behind, or `restored` was run meanwhile.
  private func write(_ next: FleetSeen) throws(Errno) -> Bool {
    try lock()
    defer { ByteLock.unlock(file, at: 0) }
    let content = try file.read(FleetSeen.length, at: 0)
    if content.isEmpty && start == .refused { return false }
    if let other = FleetSeen(content), other.next(next.origin) == nil { return !other.refusesAll }
    try file.write(next.encoded, at: 0)
    return true
  }

  /// If the file still says what this process has read, or more: `restored` may have been run since.
  private func refuseFromNowOn(_ floor: FleetSeen) throws(Errno) {
    try lock()
    defer { ByteLock.unlock(file, at: 0) }
    guard let kept = FleetSeen(try file.read(FleetSeen.length, at: 0)),
      kept.origin.cluster == floor.origin.cluster, kept.origin.revision >= floor.origin.revision
    else { return }
    try file.write(kept.refusingAll.encoded, at: 0)
  }

  private func lock() throws(Errno) {
    guard try ServiceFile.lock(file, within: SeenFile.milliseconds, pauses: 200...200) else {
      throw .wouldBlock
    }
  }

  /// Begins with what other servers have seen, or takes note of it. For root; before etcd is asked.
  ///
  /// - Throws: a fault, too, if what was seen here is another cluster.
  public func raise(to other: FleetSeen) throws(Fault) {
    let next: FleetSeen?
    do throws(Errno) {
      try lock()
      defer { ByteLock.unlock(file, at: 0) }
      let content = try file.read(FleetSeen.length, at: 0)
      next = content.isEmpty ? other : FleetSeen(content)?.raised(to: other)
      if let next { try file.write(next.encoded, at: 0) }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    guard let next else { throw restored }
    floor = next
  }

  /// Forgets what was seen: an administrator says that etcd was restored. For root.
  public func forget() throws(Fault) {
    do throws(Errno) {
      try lock()
      defer { ByteLock.unlock(file, at: 0) }
      try file.setSize(0)
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    floor = nil
  }
}
