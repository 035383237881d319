package import PasscodePolicy
package import PasscodeSystem

// MUST (key):
// 17  Nothing is sealed under a key that was overwritten: the sealing process checks, after reading it, that the file still
//     has its name. A key of 32 zeros is none.
//     test_an_enrolment_that_had_the_file_open_is_not_sealed_under_zeros, test_a_key_of_zeros_is_none

/// The machine key: 32 random bytes outside the store, under which every credential is sealed. A stolen
/// store holds nothing to search without it.
///
/// It is in `key_file`, or, where it is sealed, in the runtime directory for keys once it was loaded. While it is being
/// replaced (`KeyRotation`), the next one is beside it, and both open.
///
/// It MUST be made only by `create` and by a rotation, which an administrator or the installer asks for; never by an
/// enrolment or an attempt: a new key beside old records would lock everybody out.
/// Tests: test_tool.py, `test_an_enrolment_makes_no_key`; RecordTests.
package struct MachineKey {
  package enum Generation {
    case current, next
  }

  package let configuration: Configuration

  package var path: Bytes { configuration.options.policy.keyFile }

  package init(configuration: Configuration) {
    self.configuration = configuration
  }

  /// Reads the key. What was opened may be overwritten before it is read: then another file has its name, or will have.
  ///
  /// - Returns: the key's file.
  @discardableResult
  package func load(
    _ key: inout SecretKey, _ generation: Generation = .current
  ) throws(Fault) -> Descriptor {
    do throws(Fault) { return try loadOnce(&key, generation) } catch {
      if error.reason != .keyLength { throw error }
    }
    return try loadOnce(&key, generation)
  }

  private func loadOnce(_ key: inout SecretKey, _ generation: Generation) throws(Fault) -> Descriptor {
    let file = try open(generation)
    try read(file, &key)
    return file
  }

  /// The key to seal with: the next one, where there is one. To be asked under the record's lock: a rotation that begins
  /// later waits for that lock.                                                       test_key_rotation.py
  ///
  /// What was read is taken only if the file still has its name: else it may have been overwritten meanwhile (`KeyFile`).
  func loadToSeal(_ key: inout SecretKey) throws(Fault) {
    // Each time that the name has gone, a command has just replaced a key.
    for _ in 0..<16 {
      let file = try openToSeal()
      let isRead = (try? key.read(file)) == true
      guard isSame(file, try openToSeal()) else { continue }
      if isRead { return }
      throw Fault(.keyLength, path: path)
    }
    throw Fault(.noKey, path: path)
  }

  private func isSame(_ one: borrowing Descriptor, _ other: borrowing Descriptor) -> Bool {
    guard let one = try? one.status(), let other = try? other.status() else { return false }
    return one.inode == other.inode && one.modified == other.modified
  }

  private func openToSeal() throws(Fault) -> Descriptor {
    if let file = try find(.next) { return file }
    return try open()
  }

  /// Reads the opened file.
  func read(_ file: borrowing Descriptor, _ key: inout SecretKey) throws(Fault) {
    do throws(Errno) {
      if try key.read(file) { return }
    } catch {
      throw Fault(.failed, path: path, error: error.code)
    }
    throw Fault(.keyLength, path: path)
  }

  /// - Throws: a fault if it is missing or not to be trusted.
  @inline(never)
  package func open(_ generation: Generation = .current) throws(Fault) -> Descriptor {
    if let file = try find(generation) { return file }
    throw Fault(.noKey, path: path)
  }

  /// Reads the key that was loaded from a sealed one, even if there is a plain key.
  ///
  /// - Returns: false if there is none.
  @inline(never)
  package func loadLoaded(_ key: inout SecretKey, _ generation: Generation = .current) throws(Fault) -> Bool {
    guard configuration.isUsual,
      let file = try find(at: KeyPlaces.loaded, KeyPlaces.suffix(generation))
    else { return false }
    try read(file, &key)
    return true
  }

  /// Opens the key's file; nil if there is none.
  private func find(_ generation: Generation) throws(Fault) -> Descriptor? {
    let suffix = KeyPlaces.suffix(generation)
    if let file = try find(at: path, suffix) { return file }
    return configuration.isUsual ? try find(at: KeyPlaces.loaded, suffix) : nil
  }

  @inline(never)
  private func find(at place: Bytes, _ suffix: Bytes) throws(Fault) -> Descriptor? {
    let place = place + suffix
    guard case .found(let file, let status) = try configuration.trust(.key).open(place) else { return nil }
    guard status.size == Length.key else { throw Fault(.keyLength, path: place) }
    return file
  }
}

/// Where the key may be, sealed (`KeySteps`) and not.
///
/// | file                                | what                                                       |
/// |-------------------------------------|------------------------------------------------------------|
/// | `key_file`, `….new`                 | the key, and while a rotation runs the next one            |
/// | `key_file.cred`, `….cred.new`       | the same, sealed by the TPM; root's alone                  |
/// | `/run/passcode-key/key`, `key.new`  | the same, opened, until the next boot, on a ramfs; not in  |
/// |                                     | `/run/passcode`, which is the service account's            |
package enum KeyPlaces {
  /// Only the keys of the default configuration are sealed and loaded.
  @inline(never)
  package static var loaded: Bytes { loadedFolder + Bytes(text: "/key") }

  package static var loadedFolder: Bytes { Bytes(text: "/run/passcode-key") }

  package static func suffix(_ generation: MachineKey.Generation) -> Bytes {
    generation == .next ? Bytes(text: ".new") : []
  }
}
