internal import CSystem

/// How long Ctrl-C, Ctrl-Z, a closed window and the like concern a new process only, and not the one that made it.
public enum Shield: Equatable, Sendable {
  case whileItRuns, forGood
}

/// Runs `body` in a new process, and waits for it.
///
/// For programs with one thread only (the tool). Where the new process is stopped, this one stops after it: not
/// before it, which may have the terminal to put back first.
/// - Returns: what `body` returned (0 to 255), or nil if the process could not be made or was ended by a signal.
public func inNewProcess(shielded: Shield, _ body: () -> UInt8) -> UInt8? {
  let child = fork()
  if child == 0 { _exit(Int32(body())) }
  guard child > 0 else { return nil }
  var before = cs_dispositions()
  // SAFETY: it writes what it is given; below, it is read.
  unsafe cs_ignore_interrupts(&before)
  defer { if shielded == .whileItRuns { unsafe cs_restore_interrupts(&before) } }
  var status: Int32 = 0
  // SAFETY: waitpid writes one number.
  while (try? retrying({ unsafe waitpid(child, &status, WUNTRACED) })) != nil {
    let ending = status & 0x7f
    if ending == 0 { return UInt8(truncatingIfNeeded: status >> 8) }
    guard ending == 0x7f else { return nil }
    raise(SIGSTOP)
    kill(child, SIGCONT)
  }
  return nil
}

/// The folders where libpam of this machine's distribution keeps its modules.
public func moduleDirectories() -> [[UInt8]] {
  // SAFETY: a constant, NUL-terminated string.
  [unsafe bytes(cs_module_directory()), literal("/usr/lib/security"), literal("/usr/lib64/security")]
}

/// A folder that only this account can enter, and that is gone, with all in it, when this value goes.
public struct TemporaryDirectory: ~Copyable {
  public let path: [UInt8]

  /// nil: it could not be made. The corresponding C function is `mkdtemp`.
  public init?(prefix: StaticString) {
    var name = (literal("/tmp/") + literal(prefix) + literal(".XXXXXX") + [0]).map { CChar(bitPattern: $0) }
    guard unsafe mkdtemp(&name) != nil else { return nil }
    path = name.dropLast().map { UInt8(bitPattern: $0) }
  }

  deinit {
    unsafe withCString(path) { unsafe cs_remove_tree($0) }
  }

  /// Writes a file that only this account can read.
  public func write(_ name: [UInt8], _ content: [UInt8]) throws(Errno) {
    let directory = try Descriptor.open(path, .directory)
    let file = try directory.open(name, .create(mode: 0o600))
    try file.write(content, at: 0)
  }

  /// Makes `name` a symbolic link to `target`. The corresponding C function is `symlink`.
  public func link(_ name: [UInt8], to target: [UInt8]) throws(Errno) {
    let full = path + [UInt8(ascii: "/")] + name
    try retrying {
      unsafe withCString(target) { target in unsafe withCString(full) { unsafe symlink(target, $0) } }
    }
  }
}

/// The file that this program was started from. The corresponding file is /proc/self/exe.
public func programPath() -> [UInt8]? {
  var buffer = [CChar](repeating: 0, count: 4_096)
  let link = literal("/proc/self/exe")
  guard let length = try? retrying({ unsafe withCString(link) { unsafe readlink($0, &buffer, 4_095) } })
  else {
    return nil
  }
  return buffer.prefix(length).map { UInt8(bitPattern: $0) }
}
