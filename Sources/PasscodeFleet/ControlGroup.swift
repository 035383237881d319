internal import PasscodePolicy
internal import PasscodeSystem

/// The memory that this process's control groups leave it (cgroups(7)). The kernel kills what takes more, however much the
/// machine has: a unit, or a container, may have a limit.                                          test_fleet_hangs.py
enum ControlGroup {
  /// Bytes, pages of files not counted; `UInt64.max` where nothing limits it, or where that can't be told.
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

  /// The bytes that a group and those above it leave to its processes.
  private static func within(
    _ group: ArraySlice<UInt8>, _ root: Literal, _ files: (limit: Literal, used: Literal)
  ) -> UInt64 {
    var (group, left) = (group, UInt64.max)
    while let end = group.lastIndex(of: UInt8(ascii: "/")) {
      let folder = Bytes(text: root) + group
      if let limit = number(folder + Bytes(text: files.limit)),
        let used = number(folder + Bytes(text: files.used))
      {
        left = min(left, limit - min(used, limit))
      }
      group = group[..<end]
    }
    return left
  }

  private static func number(_ path: Bytes) -> UInt64? { lines(path).first.flatMap { decimal($0) } }

  private static func lines(_ path: Bytes) -> [ArraySlice<UInt8>] {
    let file = try? Descriptor.open(path, .readLinked)
    return ((try? file?.read(4_096, at: 0)) ?? [])[...].parts(between: UInt8(ascii: "\n"))
  }
}
