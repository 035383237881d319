internal import PasscodePolicy
internal import PasscodeSystem

/// The machine key: 32 random bytes outside the store, under which every credential is sealed. A stolen
/// store holds nothing to search without it.
///
/// It MUST be made only by `create`, which an administrator or the installer asks for; never by an
/// enrolment or an attempt: a new key beside old records would lock everybody out.
/// Tests: test_tool.py, `test_an_enrolment_makes_no_key`; RecordTests.
struct MachineKey {
  let configuration: Configuration

  private var path: Bytes { configuration.options.policy.keyFile }

  func load(_ key: inout SecretKey) throws(Fault) {
    try read(try open(), &key)
  }

  /// Reads the opened file.
  func read(_ file: borrowing Descriptor, _ key: inout SecretKey) throws(Fault) {
    do throws(Errno) {
      if try key.read(file) { return }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    throw misshapen
  }

  private var misshapen: Fault {
    Fault(.keyLength, path: path)
  }

  /// - Throws: a fault if it is missing or not to be trusted.
  func open() throws(Fault) -> Descriptor {
    switch try configuration.trust(.key).open(path) {
    case .found(let file, let status):
      guard status.size == Length.key else { throw misshapen }
      return file
    case .missing:
      throw Fault(.noKey, path: path)
    }
  }

  /// - Throws: a fault if the helper, which runs as the service account, can't read it.
  func checkServiceReads() throws(Fault) {
    guard configuration.access == .root, let service = serviceAccount() else { return }
    guard case .found(_, let status) = try configuration.trust(.key).open(path) else { return }
    guard status.mode & 0o040 != 0, status.group == service.gid else {
      throw Fault(.keyNotReadable, path: path)
    }
  }

  /// Makes it, whole, under its name; an error if there is one already.
  func create(_ sodium: Sodium) throws(Fault) {
    let (folder, name) = split(path)
    do throws(Errno) {
      if configuration.access == .root, try isMissing(folder) { try makeDirectory(folder, mode: 0o755) }
      let group = configuration.access == .root ? serviceAccount()?.gid : nil
      let directory = try Descriptor.open(folder, .directory)
      let file = try directory.createNameless(mode: 0o400)
      if let group { try file.setOwner(0, group: group) }
      try file.setMode(group == nil ? 0o400 : 0o440)
      try file.write(randomBytes(Length.key, sodium), at: 0)
      try file.sync()
      try directory.link(file, as: name)
      try directory.sync()
    } catch {
      throw Fault(error == .exists ? .keyExists : .failed, path: path, error: error.code)
    }
  }

  private func isMissing(_ folder: Bytes) throws(Errno) -> Bool {
    do throws(Errno) {
      _ = try FileStatus.of(folder)
      return false
    } catch {
      if error == .noEntry { return true }
      throw error
    }
  }

  private func split(_ path: Bytes) -> (folder: Bytes, name: Bytes) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return (Bytes(text: "/"), path) }
    let folder = slash == path.startIndex ? Bytes(text: "/") : Bytes(path[..<slash])
    return (folder, Bytes(path[(slash + 1)...]))
  }
}
