internal import CSystem
public import PasscodeSystem

/// A process that runs, by the kernel's own handle of it: its number may be given to another one, the handle never is.
public struct RunningProcess: ~Copyable {
  private let handle: Descriptor
  private let number: pid_t

  /// The corresponding C function is `pidfd_open`.
  ///
  /// - Throws: an error where there is none, or it is the first process or this one.
  public static func open(_ number: UInt64) throws(Errno) -> RunningProcess {
    guard number > 1, let process = pid_t(exactly: number), process != getpid() else { throw .noEntry }
    // No initialiser that can fail: Swift 6.2 crashes.
    let handle = Descriptor(adopting: try retrying { cs_open_process(process) })
    return RunningProcess(handle: handle, number: process)
  }

  /// Whether the process has this very file open, with a lock on it (`flock`). The corresponding files are /proc/PID/fd and
  /// /proc/PID/fdinfo.
  public func holdsLock(on file: borrowing Descriptor) -> Bool {
    cs_holds_lock(number, file.raw) != 0
  }

  /// Ends it, even if it is stopped, and waits for that for up to a second. The corresponding C function is
  /// `pidfd_send_signal`.
  ///
  /// - Returns: whether it has ended.
  public func end() -> Bool {
    cs_end_process(handle.raw) != 0
  }
}
