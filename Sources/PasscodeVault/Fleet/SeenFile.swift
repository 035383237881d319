public import PasscodePolicy
internal import PasscodeSystem

/// Keeps how far this server has seen etcd come: `FleetSeen`.
///
/// - What is kept MUST be read before etcd is asked: another process may have seen more until the answer comes.
/// - It is written without a sync, in place: a power cut may lose the last ones, and a snapshot is older by more.
///                                                                                          FleetSnapshotTests
public final class SeenFile {
  private let path: Bytes
  private let file: Descriptor
  private var floor: FleetSeen?

  public static var usualPath: Bytes { Bytes(text: "/var/lib/passcode-verifier/seen") }

  /// Makes it, empty, where there is none; root makes it for the service account.
  public init(_ path: Bytes, for access: Access) throws(Fault) {
    self.path = path
    do throws(Errno) {
      file = try SeenFile.openOrCreate(path)
      if access == .root, let owner = serviceAccount() { try file.setOwner(owner.uid, group: owner.gid) }
      let content = try file.read(FleetSeen.length, at: 0)
      floor = FleetSeen(content)
      if floor == nil && !content.isEmpty { throw Errno.invalid }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  private static func openOrCreate(_ path: Bytes) throws(Errno) -> Descriptor {
    do throws(Errno) { return try Descriptor.open(path, .readWrite) } catch {
      if error != .noEntry { throw error }
    }
    do throws(Errno) { return try Descriptor.open(path, .create(mode: 0o600)) } catch {
      if error != .exists { throw error }
    }
    return try Descriptor.open(path, .readWrite)
  }

  /// Takes note of where an answer comes from.
  ///
  /// - Throws: a fault if it comes from the past, or from another cluster, or if that can't be noted.
  func take(_ origin: EtcdOrigin) throws(Fault) {
    if let floor, floor.next(origin) == nil {
      throw Fault(.fleetRestored, path: path, error: Errno.stale.code)
    }
    let next = FleetSeen(origin)
    if next == floor { return }
    floor = next
    do throws(Errno) {
      // Another process may have written more, or may be writing: what is highest stays.
      while !RangeLock.tryLock(file, at: 0, count: 1) { SystemClock.sleep(microseconds: 200) }
      defer { RangeLock.unlock(file, at: 0, count: 1) }
      if let other = FleetSeen(try file.read(FleetSeen.length, at: 0)), other.next(origin) == nil { return }
      try file.write(next.encoded, at: 0)
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
  }

  /// Forgets what was seen: an administrator says that etcd was restored. For root.
  public func forget() throws(Fault) {
    do throws(Errno) { try file.setSize(0) } catch { throw Fault(.failed, path: path, error: error.code) }
    floor = nil
  }
}
