public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

// Replacing the machine key by a new one, while logins go on, without anybody's passcode. For root, or a person's own store.
//
//     the next key is on the device, sealed where the current one is
//     each record, under its lock: opened with the current key, sealed with the next one, both copies written
//     the next key takes the current one's name, at once
//
// MUST (key):
//  2  Each copy of a record opens with a key that is on the device, at each moment. Killed anywhere, nobody is lost,
//     `key status` says what is left, and the same command finishes it.
//     test_killed_at_each_step_everybody_has_one_key_and_the_next_run_finishes,
//     test_killed_at_random_points_nobody_is_lost, test_key.py
//  3  The current key goes only when every record was seen, under its lock, to need it no more. One that can't be read,
//     opened or written keeps it: the rotation says which it is, and isn't finished.
//     test_a_record_that_cannot_be_read_keeps_the_old_key, test_a_disk_that_fails_loses_nobody
//  4  A record is opened with the key that was read before, then with the next one, then with the current one again. It is
//     sealed, under its lock, with the next key if there is one, or with the key that opened it under that lock. Thus no
//     record falls back after it was seen, and no login fails.   test_logins_enrolments_and_changes_go_on,
//     test_an_open_prompt_sees_the_whole_rotation, test_what_is_enrolled_in_between_is_under_the_next_key
//  5  One command at a time changes keys: it locks a file that only root can open. (Anyone could lock the directory.)
//     test_one_rotation_at_a_time, test_nobody_but_root_can_hold_up_a_rotation
// 13  A rotation uses no next key whose recovery copy was not shown.
//     test_no_next_key_is_used_whose_paper_was_not_shown
// 18  `rotate --must-change` leaves nobody a passcode that opens more than one login before it is changed, and is refused
//     where nobody could change it.
//     test_everybody_must_change_after_one_more_login, test_it_is_refused_where_nobody_could_change_anything
// 19  A plain key that a backup brings back amid a rotation of sealed keys, current or next, keeps it from nothing, and goes
//     at its end: no sealed key that records may need is overwritten for it.
//     test_a_plain_key_that_comes_back_amid_a_rotation_keeps_nothing_from_going_on
//
// The list of uids is all that grows with the store.

extension Vault {
  /// Puts every record under a new key, or goes on with that.
  ///
  /// - Parameters:
  ///   - mustChange: whether each passcode opens only one more login, and must be changed then.
  ///   - show: prints the recovery copy of a key that is to be sealed, or says why it can't.
  /// - Throws: `keyMustNotChange` where nobody could change it: by neither the password nor the old passcode alone.
  /// - Returns: how many passcodes there are.
  @inline(never)
  public func rotateKey(
    _ room: KeyRoom, mustChange: Bool, show: (borrowing SecretKey) throws(Fault) -> Void
  ) throws(Fault) -> UInt64 {
    // Without the password, and by a passcode that proves nothing without a finger.
    let isClosed = policy.secondFactor || policy.needsFinger && !policy.allowsSelfEnroll
    if mustChange, isClosed { throw Fault(.keyMustNotChange) }
    let lock = try lockKeys()
    defer { _ = lock }
    let plain = plainKey(.current)
    // Beside sealed keys that are being exchanged, a plain one came from a backup: it stays until nothing needs it.
    let isPlain = plain.exists && !isSealed(.next)
    // A plain current and a plain next key that open everything are what a killed `unseal` left.
    if isPlain, isSealed(.current), !plainKey(.next).exists || (try? checkNothingNeedsAnother()) == nil {
      throw Fault(.twoKeys, path: plain.path)
    }
    let fromPlain = try useToRotate(room, isPlain: isPlain)
    try forgetFinished(room)
    try chooseNextKey(&room.next.unsealed.key, fromPlain: fromPlain)
    // Recovered as the current one while it is sealed as the next one: the other key may still be needed.
    if room.next.unsealed.key.equals(room.current.unsealed.key) {
      let count = try countOpened(&room.next.unsealed)
      if count.opened < count.enrolled || count.damaged > 0, try !takePlain(room, isPlain: isPlain) {
        let number = count.enrolled + count.damaged - count.opened
        throw Fault(.keyOpensNone, path: policy.keyFile, number: number)
      }
    }
    if !isPlain {
      try makeSealed(room, show)
    } else if !plainKey(.next).exists {
      try plainKey(.next).create(room.next.unsealed.key)
    }
    var count = try rotateRecords(
      from: &room.current.unsealed, to: &room.next.unsealed, mustChange: mustChange)
    // What was enrolled under plain keys that a backup brought back.
    for generation in [MachineKey.Generation.current, .next] where !isPlain && plainKey(generation).exists {
      if count.left == 0 { break }
      try MachineKey(configuration: configuration).load(&room.current.unsealed.key, generation)
      count = try rotateRecords(from: &room.current.unsealed, to: &room.next.unsealed, mustChange: mustChange)
    }
    guard count.left == 0 else { throw Fault(.keyStillNeeded, number: count.left) }
    try finishRotation(isPlain: isPlain)
    return count.done
  }

  /// So many passcodes still need the current key; nil: no rotation is under way.
  func leftToRotate(_ unsealed: inout Unsealed) throws(Fault) -> UInt64? {
    guard isSealed(.next) || plainKey(.next).exists else { return nil }
    try use(.next, &unsealed.key)
    let count = try countOpened(&unsealed)
    return count.enrolled - count.opened
  }

  typealias Credentials = (enrolled: UInt64, opened: UInt64, damaged: UInt64)

  /// How many records hold a passcode, and how many of these the key opens; and how many are damaged, and in neither
  /// number. One that can't be read may hold one.
  @inline(never)
  func countOpened(_ unsealed: inout Unsealed) throws(Fault) -> Credentials {
    let store = try Store.open(configuration)
    var count: Credentials = (0, 0, 0)
    for uid in try store.uids() {
      do throws(Fault) {
        guard let reading = try read(store, uid), reading.record?.state != .removed else { continue }
        guard let record = reading.record else {
          count.damaged += 1
          continue
        }
        if Credential.open(record, &unsealed) { count.opened += 1 }
      } catch {
        // One file must not keep everybody's key from being recovered.
        log(error)
      }
      count.enrolled += 1
    }
    return count
  }

  func isSealed(_ generation: MachineKey.Generation) -> Bool {
    configuration.isUsual && sealedKey(generation).exists
  }

  // MARK: - The next key

  /// After a rotation that was killed when all was done, the key in use may still be loaded as the next one: it isn't new.
  private func forgetFinished(_ room: KeyRoom) throws(Fault) {
    let machineKey = MachineKey(configuration: configuration)
    if isSealed(.next) || plainKey(.next).exists
      || (try? machineKey.load(&room.next.unsealed.key, .next)) == nil
    {
      return
    }
    if room.next.unsealed.key.equals(room.current.unsealed.key) { try loadedKey(.next).remove() }
  }

  /// Loads the current key. Beside sealed ones it is the loaded one; or, where that can't be used and the plain keys open
  /// everything, the plain one.
  ///
  /// - Returns: whether it is a plain one beside sealed ones.
  private func useToRotate(_ room: KeyRoom, isPlain: Bool) throws(Fault) -> Bool {
    do throws(Fault) {
      try use(.current, &room.current.unsealed.key, unlessPlain: !isPlain)
      return false
    } catch {
      guard try takePlain(room, isPlain: isPlain) else { throw error }
      return true
    }
  }

  /// - Returns: false where none is beside the sealed ones, or the plain ones don't open everything.
  private func takePlain(_ room: KeyRoom, isPlain: Bool) throws(Fault) -> Bool {
    guard !isPlain, plainKey(.current).exists, (try? checkNothingNeedsAnother()) != nil else { return false }
    try MachineKey(configuration: configuration).load(&room.current.unsealed.key)
    return true
  }

  /// The one of an interrupted rotation, else a new one; that only where the current key opens everything.
  private func chooseNextKey(_ key: inout SecretKey, fromPlain: Bool) throws(Fault) {
    // Records may need the sealed one. A plain one beside it came from a backup, or from an `unseal` that was killed.
    if !fromPlain, isSealed(.next), plainKey(.next).exists {
      if try MachineKey(configuration: configuration).loadLoaded(&key, .next) { return }
      do throws(Fault) { return try openSealed(&key, .next) } catch {
        if (try? checkNothingNeedsAnother()) == nil { throw error }
      }
    }
    do throws(Fault) {
      try MachineKey(configuration: configuration).load(&key, .next)
      return
    } catch {
      if isUnloaded(error, .next) { return try openSealed(&key, .next) }
      guard error.reason == .noKey else { throw error }
    }
    try checkKeyServes()
    key.makeUp(sodium)
  }

  private func makeSealed(
    _ room: KeyRoom, _ show: (borrowing SecretKey) throws(Fault) -> Void
  ) throws(Fault) {
    let pcrs = pcrsInUse()
    try makeLoadedFolder(&room.compared.unsealed.key)
    // After a recovery, what is sealed may be what no TPM opens: until the end both are needed.
    let current = try sealedAgain(room.current.unsealed.key, .current, pcrs, &room.compared.unsealed.key)
    if let current { try sealedKey(.current).replace(sealed: current) }
    // Nothing is ever under a next key whose recovery copy was not shown: before that it is in no file.
    let sealed = try sealedAgain(room.next.unsealed.key, .next, pcrs, &room.compared.unsealed.key)
    try show(room.next.unsealed.key)
    if let sealed { try sealedKey(.next).replace(sealed: sealed) }
    try load(room.next.unsealed.key, .next, &room.compared.unsealed.key)
  }

  /// - Returns: nil where it is sealed already.
  @inline(never)
  private func sealedAgain(
    _ key: borrowing SecretKey, _ generation: MachineKey.Generation, _ pcrs: Bytes,
    _ compared: inout SecretKey
  ) throws(Fault) -> Bytes? {
    if isSealed(generation), (try? openSealed(&compared, generation)) != nil, compared.equals(key) {
      return nil
    }
    return try sealed(key, generation, pcrs, &compared, else: .keyLoadedOnly)
  }

  /// The order matters: what a kill leaves between two steps opens everything, and the same command finishes it.
  private func finishRotation(isPlain: Bool) throws(Fault) {
    guard isPlain else {
      // Before anybody could enrol under one of them, since the next key is no longer the next one.
      for file in [plainKey(.next), plainKey(.current)] { try file.remove() }
      try loadedKey(.next).move(to: loadedKey(.current))
      try sealedKey(.next).move(to: sealedKey(.current))
      return try forgetReplaced()
    }
    try plainKey(.next).move(to: plainKey(.current))
    // What `unsealKey` left.
    guard configuration.isUsual else { return }
    try loadedKey(.current).remove()
    try loadedKey(.next).remove()
  }

  // MARK: - The records

  func rotateRecords(
    from outgoing: inout Unsealed, to staying: inout Unsealed, mustChange: Bool = false
  ) throws(Fault) -> (done: UInt64, left: UInt64) {
    let store = try Store.open(configuration)
    var count: (done: UInt64, left: UInt64) = (0, 0)
    // Listed when the next key is there: a record that is made later is sealed with that.
    for uid in try store.uids() {
      do throws(Fault) {
        if try rotate(uid, store, &outgoing, &staying, mustChange) { count.done += 1 }
      } catch {
        log(error)
        count.left += 1
      }
    }
    return count
  }

  /// - Returns: whether the record holds a passcode, which is now under the key that stays.
  @inline(never)
  private func rotate(
    _ uid: UInt32, _ store: Store, _ outgoing: inout Unsealed, _ staying: inout Unsealed, _ mustChange: Bool
  ) throws(Fault) -> Bool {
    switch try LockedRecord.acquire(store, uid, clock) {
    case .missing: return false
    case .busy: throw busy(owner(uid))
    case .locked(var record):
      if record.isCorrupt { throw corrupt(owner(uid)) }
      if record.current.state == .removed { return false }
      let undisturbed = SignalsBlocked()
      defer { _ = undisturbed }
      var resealed = record.current
      if mustChange { resealed.terms = resealed.terms.afterOneLogin() }
      // The kill may have come after the first copy.
      if resealed == record.current, Credential.open(record.current, &staying) {
        try write(uid) { () throws(Errno) in try record.write(record.current) }
      } else {
        if !Credential.open(record.current, &staying) {
          guard Credential.open(record.current, &outgoing) else {
            throw Fault(.sealedOtherwise, path: recordPath(uid), name: record.current.name)
          }
          // What one allocation has opened, under the key that the other one holds.
          outgoing.subkey.derive(.sealing, from: staying.key)
          resealed.state = .enrolled(sealed: Credential.sealed(outgoing, resealed, sodium))
        }
        try write(uid) { () throws(Errno) in try record.replace(resealed) }
      }
      return true
    }
  }

  private func write(_ uid: UInt32, _ body: () throws(Errno) -> Void) throws(Fault) {
    do throws(Errno) { try body() } catch { throw unwritten(uid, error) }
  }

  /// The owner of a record, for messages; a uid without an account stands for itself.
  func owner(_ uid: UInt32) -> Account {
    guard case .found(let account) = Account.numbered(uid) else {
      return Account(uid: uid, gid: uid, name: decimalDigits(UInt64(uid)))
    }
    return account
  }
}
