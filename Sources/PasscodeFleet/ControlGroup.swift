internal import PasscodePolicy
internal import PasscodeSystem

/// How much memory this process's control groups still allow (cgroups(7)). The kernel kills what exceeds a unit's or a
/// container's limit, however much the machine has: perhaps another verifier, whose attempt is charged already. So nothing is
/// tried here; what doesn't fit is refused.                                                       test_fleet_hangs.py
enum ControlGroup {
  /// In bytes, page cache not counted as used. `UInt64.max`: no limit, or none can be read.
  static var memoryLeft: UInt64 {
    var left = UInt64.max
    for line in lines(Bytes(text: "/proc/self/cgroup")) {
      if line.begins(with: "0::/") {
        left = min(left, within(line.dropFirst(3), "/sys/fs/cgroup", ("/memory.max", "/memory.current")))
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), line[colon...].begins(with: ":memory:/") {
        let files: (Literal, Literal) = ("/memory.limit_in_bytes", "/memory.usage_in_bytes")
        left = min(left, within(line[colon...].dropFirst(8), "/sys/fs/cgroup/memory", files))
      }
    }
    return left
  }

  /// The bytes that a group and those above it leave to its processes. In a container, the topmost one is the container's.
  private static func within(
    _ group: ArraySlice<UInt8>, _ root: Literal, _ files: (limit: Literal, used: Literal)
  ) -> UInt64 {
    var (group, left) = (group, UInt64.max)
    while true {
      let folder = Bytes(text: root) + group
      if let limit = number(folder + Bytes(text: files.limit)),
        let used = number(folder + Bytes(text: files.used))
      {
        let kept = used - min(used, cached(folder))
        left = min(left, limit - min(kept, limit))
      }
      guard let end = group.lastIndex(of: UInt8(ascii: "/")) else { return left }
      group = group[..<end]
    }
  }

  /// Pages of files, which the kernel drops where it needs memory.
  private static func cached(_ folder: Bytes) -> UInt64 {
    var sum: UInt64 = 0
    for line in lines(folder + Bytes(text: "/memory.stat")) {
      for name in ["inactive_file ", "active_file "] as [Literal] where line.begins(with: name) {
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
