internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

/// When the prints that fprintd keeps for an account were first seen as they are now, for `finger_for`:
///
///     /run/passcode/<uid>.prints, 40 bytes:
///     offset 0    time      8 bytes    CLOCK_BOOTTIME in milliseconds, little-endian
///     offset 8    digest   32 bytes    BLAKE2b-256 of the names and contents of all files
///
/// fprintd keeps a file for each finger, below /var/lib/fprint/NAME. A new print of the same finger has the same name.
///
/// MUST (proof):
///  7  With `finger_for` in the configuration file no finger is asked for, either, while the prints that fprintd keeps for the
///     account aren't known to be those that were there when passcode or password were last used. `passcode-finger` decides
///     that, by what is in fprintd's files: before it asks for the reader, once it has it, and before a match is taken. Where
///     the prints can't be read, or are too large, no finger is asked for. Where that file can't be read, it counts as set. No
///     symbolic link is followed.                                                      test_finger_prints.py
struct NotedPrints {
  private static let length = 8 + Length.hash
  /// Bytes of all files of an account. A print has some tens of thousands.
  private static let most = 16 << 20
  /// Driver, device, finger.
  private static let depth = 3

  private let account: Account

  /// nil: `finger_for` isn't set in the configuration file. Where that can't be read it may be.
  static func watched(_ account: Account) -> NotedPrints? {
    let configuration = try? Configuration.load(ModuleLine(configuration: nil), .current())
    if let configuration, configuration.options.door.fingerFor == 0 { return nil }
    return NotedPrints(account: account)
  }

  /// Whether passcode or password were used since the prints have been as they are; notes when they changed.
  var areKnown: Bool {
    // The time comes last: a passcode that is used while the files are read has not accepted them.
    guard let digest = digest(), let milliseconds = SystemClock.bootMilliseconds() else { return false }
    // A time that lies ahead is of an earlier boot.
    guard let noted = try? RunFolder.open(file).read(NotedPrints.length + 1, at: 0),
      noted.count == NotedPrints.length, Bytes(noted[8...]) == digest,
      case let seen = littleEndianNumber(noted, 0, 8), seen <= milliseconds
    else {
      note(littleEndian(milliseconds, 8) + digest)
      return false
    }
    guard let used = try? RunFolder.open(name(".use")).read(9, at: 0), used.count == 8 else { return false }
    // Both may be in the same millisecond: the first prompt sees the prints, and takes the passcode at once.
    return seen <= littleEndianNumber(used, 0, 8)
  }

  private var file: Bytes { name(".prints") }

  private func name(_ end: Literal) -> Bytes { decimalDigits(UInt64(account.uid)) + Bytes(text: end) }

  /// What can't be noted is seen for the first time once more.
  private func note(_ content: Bytes) {
    do throws(Errno) {
      let file = try RunFolder.openOrMake(file, .root)
      try file.setSize(0)
      try file.write(content, at: 0)
    } catch {}
  }

  private func digest() -> Bytes? {
    let name = account.name
    guard let first = name.first, first != UInt8(ascii: "."), !name.contains(UInt8(ascii: "/")),
      let folder = try? Descriptor.open(Bytes(text: "/var/lib/fprint/") + name, .directory)
    else { return nil }
    var all = Bytes()
    guard NotedPrints.add(folder, NotedPrints.depth, &all), all.count > 1 else { return nil }
    return blake2b(all[...])
  }

  /// - Returns: whether everything was read.
  private static func add(_ folder: borrowing Descriptor, _ depth: Int, _ all: inout Bytes) -> Bool {
    guard depth > 0, var names = try? folder.names() else { return false }
    names.sort { $0.lexicographicallyPrecedes($1) }
    for name in names {
      if let inner = try? folder.open(name, .directory) {
        all += name + [0, 1]
        guard add(inner, depth - 1, &all) else { return false }
        continue
      }
      all += name + [0, 2]
      guard let file = try? folder.open(name, .read), let status = try? file.status(), status.kind == .file,
        status.size >= 0, status.size <= most - all.count,
        let content = try? file.read(Int(status.size) + 1, at: 0), content.count == Int(status.size)
      else { return false }
      all += littleEndian(UInt64(content.count), 8) + content
    }
    all += [0]  // the end of a folder: no name is empty
    return true
  }
}
