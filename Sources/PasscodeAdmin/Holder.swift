public import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
public import PasscodeVault

/// A process that holds a record.
public struct Holder: Sendable {
  public let process: UInt64
  /// The name of the holder's program; empty if it isn't known.
  public let program: Bytes
}

extension Vault {
  /// Who holds the record that a fault says is busy, for root's tool when nothing moves. nil: it says something else, or of
  /// another store; nobody holds it; or the kernel doesn't tell. The source is /proc/locks, proc_locks(5).
  public func holder(_ fault: Fault) -> Holder? {
    guard fault.reason == .busyRecord || fault.reason == .revokedAndHeld,
      let name = fault.path[...].parts(between: UInt8(ascii: "/")).last,
      let uid = decimal(name).flatMap({ UInt32(exactly: $0) }), fault.path == recordPath(uid)
    else { return nil }
    guard let store = try? Store.open(configuration), let file = try? store.open(uid) else { return nil }
    var holder: Holder?
    forEachHolder(of: file) { process in
      if holder == nil { holder = Holder(process: process, program: self.name(process)) }
    }
    return holder
  }

  /// Ends the process that holds the account's record, which may be stopped. It isn't ended in its place: the kernel's
  /// handle of it is opened first, and then it is compared again that it holds this very file, since numbers of processes
  /// and of files are given out again.                                                        test_revocation.py
  func endHolder(_ store: Store, _ uid: UInt32) {
    guard let file = try? store.open(uid) else { return }
    forEachHolder(of: file) { process in
      guard let running = try? RunningProcess.open(process) else { return }
      let program = name(process)
      guard running.holdsLock(on: file), running.end() else { return }
      log(Fault(.endedHolder, name: program, number: process))
    }
  }

  /// Calls this with each process that has locked a file of this number: there may be others of it elsewhere.
  private func forEachHolder(of file: borrowing Descriptor, _ body: (UInt64) -> Void) {
    guard let inode = try? file.status().inode, let locks = try? readKernelFile(Bytes(text: "/proc/locks"))
    else { return }
    for line in locks[...].parts(between: UInt8(ascii: "\n")) {
      // 1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF; those who wait have an arrow.
      let words = line.words()
      guard words.count >= 6, words[1].spells("FLOCK"), let process = decimal(words[4]) else { continue }
      guard let number = words[5].parts(between: UInt8(ascii: ":")).last, decimal(number) == inode else {
        continue
      }
      body(process)
    }
  }

  private func name(_ process: UInt64) -> Bytes {
    Bytes(((try? readKernelFile(Text("/proc/\(process)/comm").bytes)) ?? []).dropLast())
  }
}
