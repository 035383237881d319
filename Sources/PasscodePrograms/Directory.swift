internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

// What only the tools, the servers and passcode-finger do with directories and the files of /proc.

extension Descriptor {
  /// The names in this directory, without `.` and `..`. The corresponding C functions are `fdopendir` and `readdir`.
  public func names() throws(Errno) -> [[UInt8]] {
    var names: [[UInt8]] = []
    try forEachName { names.append($0) }
    return names
  }

  /// Calls `body` with each name in the directory, one at a time: all of them at once could take too much memory.
  ///
  /// - Throws: also where it can't be read to its end. A caller that took that for the end would put an old machine key away
  ///   though records need it.                                                                 test_key_rotation.py
  public func forEachName(_ body: ([UInt8]) -> Void) throws(Errno) {
    let copy = try open(Bytes(text: "."), .directory)
    let number = try retrying { cs_duplicate(copy.raw) }
    guard let stream = unsafe fdopendir(number) else {
      let error = Errno.last
      close(number)
      throw error
    }
    defer { unsafe closedir(stream) }
    // SAFETY: an entry is valid until the next readdir; its name is copied before.
    while let entry = unsafe cs_next_name(stream) {
      let name = unsafe bytes(entry)
      if !name.elementsEqual(Bytes(text: ".")) && !name.elementsEqual(Bytes(text: "..")) { body(name) }
    }
    let error = Errno.last
    if error.code != 0 { throw error }
  }

  /// Gives the file of this name here another name, at once, instead of whatever had that. The corresponding C function
  /// is `renameat`.
  public func rename(_ name: [UInt8], to other: [UInt8]) throws(Errno) {
    try retrying {
      unsafe withCString(name) { name in unsafe withCString(other) { unsafe renameat(raw, name, raw, $0) } }
    }
  }
}

/// A file of /proc, whose size isn't told, up to 1 MiB.
public func readKernelFile(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  let file = try Descriptor.open(path, .read)
  var content: [UInt8] = []
  while content.count < 1 << 20 {
    let part = try file.read(4_096, at: content.count)
    content += part
    if part.count < 4_096 { break }
  }
  return content
}
