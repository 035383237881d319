internal import CSystem

/// An open file or directory, closed when it goes.
public struct Descriptor: ~Copyable {
  package let raw: Int32

  package init(adopting raw: Int32) {
    self.raw = raw
  }

  deinit {
    close(raw)  // The corresponding C function is `close`; EINTR means closed, too, on Linux.
  }

  public struct Access: Sendable {
    fileprivate let flags: Int32
    fileprivate var mode: UInt32 = 0

    // A FIFO must not hold us up.
    public static var read: Access { Access(flags: O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) }
    public static var readWrite: Access { Access(flags: O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) }
    public static var directory: Access { Access(flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) }
    /// Through a symbolic link at the end of the path, too: for what is only looked at, and decides nothing.
    public static var readLinked: Access { Access(flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) }
    /// A new file; one that is there already is an error.
    public static func create(mode: UInt32) -> Access {
      Access(flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
    }
  }

  /// Opens an absolute path; never a symbolic link (but by `readLinked`), never for a child process.
  ///
  /// Whether its directories can be trusted is the caller's question. The corresponding C function is `open`.
  public static func open(_ path: [UInt8], _ access: Access) throws(Errno) -> Descriptor {
    try openat(AT_FDCWD, path, access)
  }

  /// Opens a name in this directory. The corresponding C function is `openat`.
  public func open(_ name: [UInt8], _ access: Access) throws(Errno) -> Descriptor {
    try Descriptor.openat(raw, name, access)
  }

  @inline(never)
  static func openat(_ directory: Int32, _ path: [UInt8], _ access: Access) throws(Errno)
    -> Descriptor
  {
    let terminated = withNUL(path)
    let file = try retrying {
      unsafe cs_openat(directory, terminated, access.flags, access.mode)
    }
    return Descriptor(adopting: file)
  }

  /// A nameless file in this directory; `link` gives it its name, all at once.
  public func createNameless(mode: UInt32) throws(Errno) -> Descriptor {
    Descriptor(adopting: try retrying { cs_open_nameless(raw, mode) })
  }

  /// Gives a nameless file a name here; an error if the name is taken. The corresponding C function is `linkat`.
  public func link(_ file: borrowing Descriptor, as name: [UInt8]) throws(Errno) {
    let source = file.raw
    let terminated = withNUL(name)
    try retrying { unsafe cs_link_file(source, raw, terminated) }
  }

  /// Removes a file's name from this directory, if it is there. The corresponding C function is `unlinkat`.
  public func remove(_ name: [UInt8]) throws(Errno) {
    do throws(Errno) {
      try retrying { unsafe withCString(name) { unsafe unlinkat(raw, $0, 0) } }
    } catch {
      if error != .noEntry { throw error }
    }
  }

  /// Up to `count` bytes from `offset`; fewer only at the end of the file. The corresponding C function is `pread`.
  @inline(never)
  public func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let start = done
      let got = try retrying {
        // SAFETY: the buffer has count bytes, start < count.
        unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe pread(raw, buffer.baseAddress.map { unsafe $0 + start }, count - start, offset + start)
        }
      }
      if got == 0 { break }
      done += got
    }
    return shortened(bytes, to: done)
  }

  /// Fills secret memory from the start of the file; false if the file is shorter.
  func read(into memory: UnsafeMutablePointer<UInt8>, count: Int) throws(Errno) -> Bool {
    // SAFETY: the caller's memory has count bytes.
    let got = try retrying { unsafe pread(raw, memory, count, 0) }
    return got == count
  }

  /// Writes all bytes over what the file has there. Where the write is cut (by a limit of file sizes, say), what was
  /// written becomes NULs: nobody reads the beginning with the rest of what was there before (`pwrite`).
  public func write(_ bytes: [UInt8], at offset: Int) throws(Errno) {
    var done = 0
    do throws(Errno) {
      while done < bytes.count { done += try writeSome(bytes[done...], at: offset + done) }
    } catch {
      if done > 0 { _ = try? writeSome([UInt8](repeating: 0, count: done)[...], at: offset) }
      throw error
    }
  }

  /// - Returns: how many, at least one.
  private func writeSome(_ bytes: ArraySlice<UInt8>, at offset: Int) throws(Errno) -> Int {
    let written = try retrying {
      // SAFETY: it reads the slice's own bytes.
      unsafe bytes.withUnsafeBytes { unsafe pwrite(raw, $0.baseAddress, $0.count, offset) }
    }
    if written == 0 { throw Errno(EIO) }
    return written
  }

  /// Returns when what was written is on the device. The corresponding C function is `fdatasync`.
  @inline(never)
  public func syncData() throws(Errno) {
    try retrying { fdatasync(raw) }
  }

  /// Waits until the file with its metadata, or a directory, is on the device. The corresponding C function is `fsync`.
  @inline(never)
  public func sync() throws(Errno) {
    try retrying { fsync(raw) }
  }

  /// Sets the time of the last change to now. The corresponding C function is `futimens`.
  @inline(never)
  public func touch() throws(Errno) {
    try retrying { futimens(raw, nil) }
  }

  /// The corresponding C function is `ftruncate`.
  @inline(never)
  public func setSize(_ size: Int) throws(Errno) {
    try retrying { ftruncate(raw, size) }
  }

  /// The corresponding C function is `fchown`.
  @inline(never)
  public func setOwner(_ owner: UInt32, group: UInt32) throws(Errno) {
    try retrying { fchown(raw, owner, group) }
  }

  /// The corresponding C function is `fchmod`.
  @inline(never)
  public func setMode(_ mode: UInt32) throws(Errno) {
    try retrying { fchmod(raw, mode) }
  }

  /// The corresponding C function is `fstat`.
  @inline(never)
  public func status() throws(Errno) -> FileStatus {
    var status = stat()
    try retrying { unsafe cs_status(raw, nil, &status) }
    return FileStatus(status)
  }
}

/// Waits up to so many milliseconds for something to read, or for the end of a stream (`poll`).
@inline(never)
package func hasInput(_ file: Int32, within milliseconds: Int32) -> Bool {
  var state = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&state, 1, milliseconds) > 0
}

/// A file's kind, owner, mode and times.
public struct FileStatus: Equatable, Sendable {
  public enum Kind: Equatable, Sendable {
    case file, directory, symbolicLink, characterDevice, other
  }

  public let kind: Kind
  public let owner: UInt32
  public let group: UInt32
  /// Permission bits, with setuid, setgid and sticky: 0 to 0o7777.
  public let mode: UInt32
  public let links: UInt64
  public let size: Int
  /// When it was last written or touched: nanoseconds since 1970.
  public let modified: UInt64
  /// When the file was last read, or `touchAccess` was called; in the same unit.
  public let accessed: UInt64
  public let inode: UInt64

  init(_ status: stat) {
    switch status.st_mode & UInt32(S_IFMT) {
    case UInt32(S_IFREG): kind = .file
    case UInt32(S_IFDIR): kind = .directory
    case UInt32(S_IFLNK): kind = .symbolicLink
    case UInt32(S_IFCHR): kind = .characterDevice
    default: kind = .other
    }
    owner = status.st_uid
    group = status.st_gid
    mode = status.st_mode & 0o7777
    links = UInt64(status.st_nlink)
    size = status.st_size
    modified = FileStatus.nanoseconds(status.st_mtim)
    accessed = FileStatus.nanoseconds(status.st_atim)
    inode = UInt64(status.st_ino)
  }

  private static func nanoseconds(_ time: timespec) -> UInt64 {
    UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }

  /// Of a path, without following a symbolic link at its end. The corresponding C function is `lstat`.
  @inline(never)
  public static func of(_ path: [UInt8]) throws(Errno) -> FileStatus {
    var status = stat()
    let terminated = withNUL(path)
    try retrying { unsafe cs_status(-1, terminated, &status) }
    return FileStatus(status)
  }
}

/// Makes a directory, and opens it. The corresponding C function is `mkdir`; the mode is then set, whatever the umask.
@discardableResult
public func makeDirectory(_ path: [UInt8], mode: UInt32) throws(Errno) -> Descriptor {
  try retrying { unsafe withCString(path) { unsafe mkdir($0, 0o700) } }
  let directory = try Descriptor.open(path, .directory)
  try directory.setMode(mode)
  return directory
}
