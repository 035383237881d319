internal import CSodium
internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

/// The lines of a file or of standard input, for lists with passcodes: they are in guarded, locked memory, in pieces of
/// 4 KiB, and wiped as soon as the next line is asked for.                                       GuardedLinesTests
@safe public struct GuardedLines: ~Copyable {
  /// Bytes that a line may have.
  public static let longest = 511
  private static let capacity = 4_096

  public enum Next: Equatable, Sendable {
    case line, tooLong
    /// The line isn't complete yet: call `fill`.
    case notYet
    case end
  }

  let file: Descriptor
  private let base: UnsafeMutablePointer<UInt8>
  /// What was read, but not used yet.
  private var rest = 0..<0
  private var line = 0..<0
  private var isAtEnd = false
  /// Whether the rest of a line that is too long is being skipped.
  private var isSkipping = false
  /// The bytes of all lines up to and including this one.
  public private(set) var position = 0

  /// nil: no memory.
  ///
  /// - Parameter path: nil: standard input.
  public static func open(_ path: [UInt8]?, _ sodium: Sodium) throws(Errno) -> GuardedLines? {
    let file =
      if let path { try Descriptor.open(path, .readLinked) } else {
        Descriptor(adopting: try retrying { cs_duplicate(0) })
      }
    guard let memory = unsafe sodium_malloc(GuardedLines.capacity) else { return nil }
    // No initialiser that can fail: see `DirectLogin`.
    return unsafe GuardedLines(file: file, base: memory.assumingMemoryBound(to: UInt8.self))
  }

  deinit {
    unsafe sodium_free(base)
  }

  /// Bytes in all; nil: not known before the end.
  public var size: Int? {
    guard let status = try? file.status(), status.kind == .file else { return nil }
    return status.size
  }

  /// A terminal, on which people could watch passcodes being typed.
  public var isTerminal: Bool { isatty(file.raw) == 1 }

  // SAFETY (of all below): `line` and `rest` lie within the capacity.

  /// Forgets the line before, and finds the next one.
  public mutating func next() -> Next {
    wipe(line)
    line = 0..<0
    for index in rest where unsafe base[index] == UInt8(ascii: "\n") {
      return take(rest.lowerBound..<index, separator: 1)
    }
    if isAtEnd { return rest.isEmpty && !isSkipping ? .end : take(rest, separator: 0) }
    if rest.count > GuardedLines.longest {
      position += rest.count
      wipe(rest)
      rest = 0..<0
      isSkipping = true
    }
    return .notYet
  }

  private mutating func take(_ found: Range<Int>, separator: Int) -> Next {
    defer { isSkipping = false }
    position += found.count + separator
    rest = found.upperBound + separator..<rest.upperBound
    if isSkipping || found.count > GuardedLines.longest {
      wipe(found)
      return .tooLong
    }
    line = found
    return .line
  }

  /// Reads more; waits until there is something, but not for a whole line. The corresponding C function is `read`.
  public mutating func fill() throws(Errno) {
    unsafe memmove(base, base + rest.lowerBound, rest.count)
    let count = rest.count
    wipe(count..<max(count, rest.upperBound))
    rest = 0..<count
    let got: Int
    do throws(Errno) {
      got = try retrying {
        unsafe CSystem.read(file.raw, base + count, GuardedLines.capacity - count)
      }
    } catch {
      if error == .wouldBlock { return }
      throw error
    }
    isAtEnd = got == 0
    rest = 0..<count + got
  }

  /// Lends the line.
  public func read<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    let start = unsafe UnsafePointer(base + line.lowerBound)
    return unsafe body(Span(_unsafeStart: start, count: line.count))
  }

  /// Copies the line from `offset` on.
  public func copy(from offset: Int, to target: inout TypedLine) {
    target.wipe()
    guard 0...line.count ~= offset else { return }
    // SAFETY: a TypedLine has room for 512 bytes, which is more than `longest`.
    unsafe cs_copy(target.start, base + line.lowerBound + offset, line.count - offset)
    target.count = line.count - offset
  }

  /// Wipes everything that was read: for a forked copy of this process, which needs none of it.
  public mutating func wipe() {
    wipe(0..<GuardedLines.capacity)
    rest = 0..<0
    line = 0..<0
  }

  private func wipe(_ range: Range<Int>) {
    unsafe sodium_memzero(base + range.lowerBound, range.count)
  }
}

/// Where lines with passcodes go, straight from guarded memory: a pipe, a terminal, or a file that MUST be root's alone
/// and that only one process at a time writes to.                                                 test_batch.py
public final class GuardedOutput {
  private let file: Descriptor
  /// Of a file, in bytes; nil: a pipe, a socket or a terminal.
  private var size: Int?

  private init(_ file: consuming Descriptor, _ size: Int?) {
    self.file = file
    self.size = size
  }

  /// Standard output.
  ///
  /// - Throws: `denied` if it is a file, a device, or a terminal that wasn't asked for.
  public static func standard(orTerminal: Bool) throws(Errno) -> GuardedOutput {
    let file = Descriptor(adopting: try retrying { cs_duplicate(1) })
    let isTerminal = Stream.output.isTerminal
    guard isTerminal ? orTerminal : try file.status().kind == .other else { throw .denied }
    return GuardedOutput(file, nil)
  }

  /// Creates a file, 0600, or appends to one. It is locked as long as this process lives.
  ///
  /// - Throws: `denied` unless the file is a plain one, root's, without rights for group and others and without further
  ///   hard links; `wouldBlock` if another process has it locked.
  public static func file(_ path: [UInt8]) throws(Errno) -> GuardedOutput {
    let file = try openOrCreate(path)
    let status = try file.status()
    guard status.kind == .file, status.owner == 0, status.mode & 0o077 == 0, status.links == 1 else {
      throw .denied
    }
    try retrying { flock(file.raw, LOCK_EX | LOCK_NB) }
    var size = try file.status().size
    // A line may be incomplete, for example after a power cut. Its passcode was never set; it is ended here.
    let newline = UInt8(ascii: "\n")
    if size > 0, try file.read(1, at: size - 1) != [newline] {
      try file.write([newline], at: size)
      size += 1
    }
    return GuardedOutput(file, size)
  }

  private static func openOrCreate(_ path: [UInt8]) throws(Errno) -> Descriptor {
    do throws(Errno) {
      let file = try Descriptor.open(path, .create(mode: 0o600))
      try file.setMode(0o600)
      // A line's sync is for the file; its name must be on the device, too, before the first passcode is set.
      try Descriptor.open(folder(of: path), .directory).sync()
      return file
    } catch {
      if error != .exists { throw error }
    }
    return try Descriptor.open(path, .readWrite)
  }

  /// With a dot at the end: a folder may be reached through a link.
  private static func folder(of path: [UInt8]) -> [UInt8] {
    let end = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    return path[..<end] + Bytes(text: ".")
  }

  /// Writes a line; returns when it is on the device, or in the pipe. If that fails, a file is left as it was. The
  /// corresponding C functions are `pwrite` and `write`.
  public func write(_ line: borrowing TypedLine) throws(Errno) {
    let (raw, place, count) = unsafe (file.raw, line.start, line.count)
    guard let end = size else {
      guard try retrying({ unsafe CSystem.write(raw, place, count) }) == count else { throw Errno(EIO) }
      return
    }
    do throws(Errno) {
      guard try retrying({ unsafe pwrite(raw, place, count, end) }) == count else { throw Errno(ENOSPC) }
      try file.syncData()
    } catch {
      try? file.setSize(end)
      throw error
    }
    size = end + count
  }

  /// Closes it in a forked copy of this process, so that the lock ends with this process.
  ///
  /// - Precondition: the copy ends without its deinit.
  public func closeInCopy() {
    close(file.raw)
  }
}

extension TypedLine {
  /// Becomes `name:passcode` and a newline.
  ///
  /// - Parameter name: at most 255 bytes.
  public mutating func fill(_ name: [UInt8], _ passcode: borrowing Passcode) {
    guard name.count < 256, take(name + [UInt8(ascii: ":")]) else { return wipe() }
    // SAFETY: 255 + 1 + 8 + 1 bytes fit.
    unsafe cs_copy(start + count, passcode.start, passcode.count)
    count += passcode.count
    unsafe start[count] = UInt8(ascii: "\n")
    count += 1
  }
}
