public import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

/// Where the verifiers of this server add up what they have counted (`ServerCounts`).
///
/// - Nobody waits for it: a verifier adds to it once the workstation has its reply. What can't be added within a second is
///   lost, and so is what a verifier had counted when it was killed: a number may then be too low, but never too high.
///                                                                                                 test_metrics.py
/// - It is written in place and without a sync: a power cut may set the numbers back, which Prometheus takes for a reset.
public enum CountFile {
  private static let milliseconds: UInt64 = 1_000
  private static var path: Bytes { FleetServer.statePath + Bytes(text: "/counts-1") }

  public static func add(_ counts: ServerCounts) {
    do throws(Errno) {
      let file = try ServiceFile.openOrCreate(path)
      guard try ServiceFile.lock(file, within: milliseconds, pauses: 100...2_000) else { return }
      defer { ByteLock.unlock(file, at: 0) }
      var sum = ServerCounts(try file.read(ServerCounts.length, at: 0))
      sum.add(counts)
      try file.write(sum.encoded, at: 0)
    } catch {}
  }

  /// What was counted since the file was made; all zero if there is none, or if the service account doesn't own it.
  public static func read(_ access: Access) -> ServerCounts {
    guard let file = try? Descriptor.open(path, .readWrite),
      (try? ServiceFile.adopt(file, for: access)) != nil,
      let content = try? file.read(ServerCounts.length, at: 0)
    else { return ServerCounts() }
    return ServerCounts(content)
  }
}
