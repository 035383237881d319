internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// How much memory this process's control groups still allow (cgroups(7)). The kernel kills what exceeds a unit's or a
/// container's limit, however much the machine has: perhaps another verifier, whose attempt is charged already. So nothing is
/// tried here; what doesn't fit is refused.                                                       test_fleet_hangs.py
enum ControlGroup {
  /// Tests that a hash of this cost fits into this process's control groups, before a look is answered or an attempt charged.
  ///
  /// - Throws: a fault if it doesn't. libsodium takes a little more than it is told.
  static func check(_ cost: Options.Cost) throws(Fault) {
    guard memoryLeft < cost.memory + 1 << 18 else { return }
    throw Fault(.noMemoryToVerify, number: cost.memory >> 10, error: Errno.noMemory.code)
  }

  /// The files of a version of cgroups; and in memory.stat, what the kernel drops where it needs memory.
  private struct Version {
    let root, limit, used: Literal
    let dropped: [Literal]
  }

  /// The bytes that this process's control groups leave it; `UInt64.max`: they have no limit, or none can be read.
  private static var memoryLeft: UInt64 {
    var left = UInt64.max
    for line in lines(Bytes(text: "/proc/self/cgroup")) {
      if line.begins(with: "0::/") {
        let second = Version(
          root: "/sys/fs/cgroup", limit: "/memory.max", used: "/memory.current",
          dropped: ["inactive_file ", "active_file ", "slab_reclaimable "])
        left = min(left, within(line.dropFirst(3), second))
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), line[colon...].begins(with: ":memory:/") {
        let first = Version(
          root: "/sys/fs/cgroup/memory", limit: "/memory.limit_in_bytes", used: "/memory.usage_in_bytes",
          dropped: ["total_inactive_file ", "total_active_file "])
        left = min(left, within(line[colon...].dropFirst(8), first))
      }
    }
    return left
  }

  /// The bytes that a group and those above it leave to its processes. In a container, the topmost one is the container's.
  private static func within(_ group: ArraySlice<UInt8>, _ version: Version) -> UInt64 {
    var (group, left) = (group, UInt64.max)
    while true {
      let folder = Bytes(text: version.root) + group
      if let limit = number(folder + Bytes(text: version.limit)),
        let used = number(folder + Bytes(text: version.used))
      {
        let kept = used - min(used, droppable(folder, version.dropped))
        left = min(left, limit - min(kept, limit))
      }
      guard let end = group.lastIndex(of: UInt8(ascii: "/")) else { return left }
      group = group[..<end]
    }
  }

  private static func droppable(_ folder: Bytes, _ names: [Literal]) -> UInt64 {
    var sum: UInt64 = 0
    for line in lines(folder + Bytes(text: "/memory.stat")) {
      for name in names where line.begins(with: name) {
        sum = sum.addingReportingOverflow(decimal(line.dropFirst(name.count)) ?? 0).partialValue
      }
    }
    return sum
  }

  private static func number(_ path: Bytes) -> UInt64? { lines(path).first.flatMap { decimal($0) } }

  private static func lines(_ path: Bytes) -> [ArraySlice<UInt8>] {
    let file = try? Descriptor.open(path, .readLinked)
    return ((try? file?.read(8_192, at: 0)) ?? [])[...].parts(between: UInt8(ascii: "\n"))
  }
}
