public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

// Where the opened keys are: on a ramfs of their own, for they must never reach a disk in the clear.
//
// MUST (key):
//  9  What is opened lies on a ramfs, which is never swapped out: root alone writes there, and `_passcode` reads. Where none
//     can be mounted, nothing is loaded or sealed, and the command says so.  test_key_memory.py, test_boot.py
// 10  A key that is only in memory is an error of `status` and `check`. The unit fails where passcodes need a key and there
//     is none.  test_a_key_that_is_in_memory_only_is_an_error_that_says_what_to_do,
//     test_the_unit_fails_where_passcodes_need_a_key_and_there_is_none

extension Vault {
  /// Mounts what loaded keys need, if a key is sealed. For the unit, which then opens the key where nothing can be mounted.
  @inline(never)
  public func mountForKeys(_ room: KeyRoom) throws(Fault) {
    guard isSealed(.current) || isSealed(.next) else { return }
    let lock = try lockKeys(toSeal: true)
    defer { _ = lock }
    try makeLoadedFolder(&room.compared.unsealed.key)
  }

  /// Makes the folder for loaded keys where there is none. What an earlier version loaded into a tmpfs moves.
  @inline(never)
  func makeLoadedFolder(_ key: inout SecretKey) throws(Fault) {
    let folder = KeyPlaces.loadedFolder
    let generations = [MachineKey.Generation.current, .next].filter { isTrusted($0) }
    do throws(Errno) {
      if (try? FileStatus.of(folder)) == nil { try makeDirectory(folder, mode: 0o700) }
      let below = try Descriptor.open(folder, .directory)
      if below.isNeverSwapped { return }
      try mountUnswapped(folder)
      for generation in generations { try move(generation, from: below, &key) }
    } catch {
      throw Fault(.keyNotMounted, path: folder, name: error.text)
    }
  }

  private func isTrusted(_ generation: MachineKey.Generation) -> Bool {
    if case .found(_, _)? = try? configuration.trust(.key).open(loadedKey(generation).path) { return true }
    return false
  }

  private func move(
    _ generation: MachineKey.Generation, from below: borrowing Descriptor, _ key: inout SecretKey
  ) throws(Errno) {
    let name = Bytes(text: "key") + KeyPlaces.suffix(generation)
    if try key.read(try below.open(name, .read)) { try loadedKey(generation).makeLoaded(key) }
    try below.remove(name)
  }

  /// Writes an opened key there, unless it is there already.
  @inline(never)
  func load(
    _ key: borrowing SecretKey, _ generation: MachineKey.Generation, _ compared: inout SecretKey
  ) throws(Fault) {
    try makeLoadedFolder(&compared)
    let loaded = loadedKey(generation)
    if case .found(let file, _)? = try? configuration.trust(.key).open(loaded.path),
      (try? compared.read(file)) == true, compared.equals(key), (try? checkServiceReads(file)) == true
    {
      return
    }
    // Another key: from before a recovery, or of a sealed one that was restored.
    try loaded.remove()
    do throws(Errno) { try loaded.makeLoaded(key) } catch {
      throw Fault(.failed, path: loaded.path, error: error.code)
    }
  }

  private func checkServiceReads(_ file: borrowing Descriptor) throws(Errno) -> Bool {
    guard let service = serviceAccount() else { return true }
    let status = try file.status()
    return status.mode & 0o040 != 0 && status.group == service.gid
  }

  /// What is loaded may be on a disk one day. An earlier version left it so.
  func isSwappable() -> Bool {
    guard let folder = try? Descriptor.open(KeyPlaces.loadedFolder, .directory) else { return false }
    return loadedKey(.current).exists && !folder.isNeverSwapped
  }
}
