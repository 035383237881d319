internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

// What `passcode check` asks: it decides nothing, and changes nothing. `takeOver` and the version serve others, too.

/// What a file system has left, and how it is mounted.
public struct FileSystem: Sendable {
  /// Bytes that users other than root can still use.
  public let freeBytes: UInt64
  /// How many files can still be created; nil: the file system has no such limit.
  public let freeFiles: UInt64?
  public let isReadOnly: Bool
  /// Setuid and setgid bits are ignored there.
  public let isNosuid: Bool

  /// Of the file system that holds a path. The corresponding C function is `statvfs`.
  public static func of(_ path: [UInt8]) throws(Errno) -> FileSystem {
    var status = statvfs()
    // SAFETY: it fills what it is given.
    try retrying { unsafe withCString(path) { unsafe statvfs($0, &status) } }
    return FileSystem(
      freeBytes: UInt64(status.f_bavail) &* UInt64(status.f_frsize),
      freeFiles: status.f_files == 0 ? nil : UInt64(status.f_favail),
      isReadOnly: status.f_flag & UInt(ST_RDONLY) != 0, isNosuid: status.f_flag & UInt(ST_NOSUID) != 0)
  }
}

/// Whether the file system that holds a path is on an encrypted block device (dm-crypt), perhaps with LVM or RAID on it;
/// nil where that can't be told: it has no block device (tmpfs, btrfs, a network), or lies in a file of another one. Of a
/// block device itself, too.
public func isOnEncryptedDevice(_ path: [UInt8]) -> Bool? {
  var status = stat()
  let terminated = withNUL(path)
  guard unsafe cs_status(-1, terminated, &status) == 0 else { return nil }
  let (major, minor) = unsafe (cs_major(&status), cs_minor(&status))
  let device = decimalDigits(UInt64(major)) + Bytes(text: ":") + decimalDigits(UInt64(minor))
  return isEncrypted(Bytes(text: "/sys/dev/block/") + device, levels: 8)
}

/// - Parameter device: its folder in sysfs.
private func isEncrypted(_ device: [UInt8], levels: Int) -> Bool? {
  guard levels > 0, let names = try? Descriptor.open(device + Bytes(text: "/."), .directory).names() else {
    return nil
  }
  let identity = (try? readKernelFile(device + Bytes(text: "/dm/uuid"))) ?? []
  if identity.starts(with: Bytes(text: "CRYPT-")) { return true }
  if names.contains(Bytes(text: "loop")) { return nil }
  let below = device + Bytes(text: "/slaves/")
  var isAll: Bool? = nil
  for name in (try? Descriptor.open(below + Bytes(text: "."), .directory).names()) ?? [] {
    guard let isThis = isEncrypted(below + name, levels: levels - 1) else { return nil }
    isAll = (isAll ?? true) && isThis
  }
  return isAll ?? false
}

/// Where memory is swapped out to, unencrypted: devices and files. Compressed memory (zram) is left out.
public func unencryptedSwap() -> [[UInt8]] {
  let lines = ((try? readKernelFile(Bytes(text: "/proc/swaps"))) ?? []).split(separator: UInt8(ascii: "\n"))
    .dropFirst()
  return lines.compactMap { line in
    let path = [UInt8](line.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") })
    return path.starts(with: Bytes(text: "/dev/zram")) || isOnEncryptedDevice(path) != false ? nil : path
  }
}

/// Whether the kernel can write all memory to the disk, and switch the machine off.
public func canHibernate() -> Bool {
  let states = (try? readKernelFile(Bytes(text: "/sys/power/state"))) ?? []
  let ways = (try? readKernelFile(Bytes(text: "/sys/power/disk"))) ?? []
  return states.split(whereSeparator: { $0 <= UInt8(ascii: " ") }).contains {
    $0.elementsEqual(Bytes(text: "disk"))
  }
    && !ways.starts(with: Bytes(text: "[disabled]"))
}

/// Whether a library can be loaded with the libraries that it needs. Call this in a process of its own: the library stays
/// loaded. The corresponding C function is `dlopen`.
public func canLoad(_ path: [UInt8]) -> Bool {
  unsafe withCString(path) { unsafe dlopen($0, RTLD_NOW) } != nil
}

/// The members that the group database names for a group. For programs with one thread. The corresponding C function
/// is `getgrnam`.
public func members(ofGroup name: [UInt8]) -> [[UInt8]] {
  guard let group = unsafe withCString(name, { unsafe getgrnam($0) }),
    var member = unsafe group.pointee.gr_mem
  else { return [] }
  var names: [[UInt8]] = []
  // SAFETY: the list ends in NULL, and is valid until the next getgrnam.
  while let text = unsafe member.pointee {
    unsafe names.append(bytes(text))
    unsafe member += 1
  }
  return names
}

/// The processor time of this process in microseconds: what else the machine does doesn't count.
public func processorMicroseconds() -> UInt64 {
  cs_clock(CLOCK_PROCESS_CPUTIME_ID) / 1_000
}

extension Account {
  /// Makes this process the account's for good, without terminal, standard streams and other groups: what it then
  /// starts has nothing of root's. The corresponding C functions are `setgroups`, `setsid` and `setresuid`.
  public func takeOver() throws(Errno) {
    let nothing = try Descriptor.open(Bytes(text: "/dev/null"), .readWrite)
    for stream in 0...2 as ClosedRange<Int32> { try retrying { dup2(nothing.raw, stream) } }
    try retrying { setgroups(0, nil) }
    try HelperService.become(self)
  }
}

/// The package's version.
public struct ProgramVersion: Sendable {
  private let note: [UInt8]
  private let start: Int

  /// The version note of this program itself.
  public init() {
    var (size, start) = (0, 0)
    // SAFETY: the note is a constant of so many bytes.
    let first = unsafe cs_version_note(&size, &start)
    note = (0..<size).map { unsafe first?[$0] ?? 0 }
    self.start = start
  }

  public var text: [UInt8] { [UInt8](note[start...].prefix { $0 != 0 }) }

  /// Whether a program's file holds the same version.
  public func isIn(_ file: [UInt8]) -> Bool {
    guard let first = note.first, file.count >= note.count else { return false }
    for place in 0...file.count - note.count where file[place] == first {
      if file[place..<place + note.count].elementsEqual(note) { return true }
    }
    return false
  }
}
