public import PasscodePolicy
public import PasscodeSystem

/// The file with an account's `TouchCount`, in the runtime directory. It carries its own lock and is never replaced.
///
/// - It MUST be read, judged and written under one lock.                      test_finger_touches.py
/// - What can't be opened, locked, read or written MUST be an error, and an error lets no touch count as a match.
///                                                                            test_finger_touches.py
/// - It is `_passcode`'s, so that the helper can reset it after a passcode; who took that account over could do as much.
public struct TouchCounter {
  let uid: UInt32
  package let access: Access

  /// - Parameter access: root's, or the helper's once it is `_passcode`.
  public init(uid: UInt32, _ access: Access) {
    self.uid = uid
    self.access = access
  }

  /// Reads the touch count, and makes no file where there is none yet.
  public func current() throws(Errno) -> TouchCount {
    do throws(Errno) {
      return try read(try RunFolder.lock(try RunFolder.open(name)))
    } catch {
      if error == .noEntry { return TouchCount() }
      throw error
    }
  }

  /// Whether no touch is believed until a passcode opens; also where that can't be told.
  public var isOff: Bool {
    (try? current().isOff) ?? true
  }

  /// Takes a match, once: it must be the last thing that happened to the count, which is then 0.
  ///
  /// - Returns: whether it counts.
  func use(serial: UInt32) throws(Errno) -> Bool {
    let locked = try RunFolder.lock(try RunFolder.open(name))
    let count = try read(locked)
    guard count.serial == serial else { return false }
    try locked.file.write(count.cleared().bytes, at: 0)
    return true
  }

  /// Sets the count to 0, after a passcode was granted or another module let the person in. Damaged content is
  /// replaced; where there is no file, none is made. What can't be reset stays as it is.
  public func clear() {
    do throws(Errno) {
      let locked = try RunFolder.lock(try RunFolder.open(name))
      try check(locked)
      let count = (try? read(locked)) ?? TouchCount()
      try locked.file.write(count.cleared().bytes, at: 0)
      try locked.file.setSize(TouchCount.length)
    } catch {}
  }

  package var name: Bytes { decimalDigits(UInt64(uid)) + Bytes(text: ".finger") }

  private func check(_ lock: borrowing FileLock) throws(Errno) {
    let owner = try lock.file.status().owner
    guard owner == 0 || isServiceAccount(owner) else { throw .denied }
  }

  package func read(_ lock: borrowing FileLock) throws(Errno) -> TouchCount {
    try check(lock)
    guard let count = TouchCount(try lock.file.read(TouchCount.length + 1, at: 0)) else { throw .denied }
    return count
  }
}
