internal import CSystem
public import PasscodeSystem

extension Secrets {
  /// Locks the allocation in memory again, in a forked copy of the process: locks aren't inherited (`mlock`).
  public mutating func lockAgain() {
    unsafe _ = mlock(base, Secrets.total)
  }
}

/// A forked copy of this process that does one task. For programs with one thread.
///
/// - The worker's secrets MUST be in its own locked memory before it does anything.      test_batch.py
/// - It MUST have no other secrets of this process.
/// - Ctrl-Z MUST NOT suspend it, because it may have a record locked. It ends with its task; the process that started it
///   is suspended.                                                                   test_batch.py
public final class Worker {
  /// The most bytes of a result: what a pipe takes at once.
  private static let longest = 4_096

  private let result: Descriptor
  /// The worker's process id.
  public let process: Int32

  private init(_ result: consuming Descriptor, _ process: pid_t) {
    self.result = result
    self.process = process
  }

  /// Starts a copy of this process, which does one task. The corresponding C functions are `pipe` and `fork`.
  ///
  /// - Parameters:
  ///   - secrets: what the task needs. The caller should wipe them next; the copy has locked its own by then.
  ///   - task: what the copy does; it ends with the result.
  public static func start(_ secrets: inout Secrets, _ task: (inout Secrets) -> [UInt8]) throws(Errno)
    -> Worker
  {
    var end: Int32 = -1
    let child = try retrying { unsafe cs_fork_worker(&end) }
    let worker = Worker(Descriptor(adopting: end), child)
    guard child == 0 else {
      // Waits until its secrets are in locked memory. If it has died instead, `finish` notices.
      var ready: UInt8 = 0
      _ = try? retrying { unsafe CSystem.read(worker.result.raw, &ready, 1) }
      return worker
    }
    cs_hold_pauses()
    secrets.lockAgain()
    worker.send([1])
    worker.send(task(&secrets))
    _exit(0)
  }

  private func send(_ bytes: [UInt8]) {
    let count = min(bytes.count, Worker.longest)
    _ = try? retrying { unsafe CSystem.write(result.raw, bytes, count) }
  }

  /// How a worker ended.
  public enum End {
    case result([UInt8])
    /// The worker was stopped while it waited: `Workers.endIfStopped`.
    case stopped
    case died
  }

  /// Waits for the worker's result and its end. The corresponding C functions are `read` and `waitpid`.
  public func finish() -> End {
    var bytes = [UInt8](repeating: 0, count: Worker.longest)
    let count = (try? retrying { unsafe CSystem.read(result.raw, &bytes, bytes.count) }) ?? 0
    var status: Int32 = 0
    _ = try? retrying { unsafe waitpid(process, &status, 0) }
    if count > 0 { return .result([UInt8](bytes.prefix(count))) }
    return status == Workers.stopped << 8 ? .stopped : .died
  }

  /// Passes on what asks this process to stop. The corresponding C function is `kill`.
  public func passOnStops() { cs_pass_on_stops(process) }

  /// Which of these have a result or died; waits for that up to so many milliseconds. The corresponding C function is
  /// `poll`.
  ///
  /// - Returns: indices of the workers; and whether `input` can be read, which is asked only with `orInput`.
  public static func ready(
    _ workers: [Worker], _ input: borrowing GuardedLines, orInput: Bool, within milliseconds: Int32
  ) -> (workers: [Int], input: Bool) {
    var files = workers.map { pollfd(fd: $0.result.raw, events: Int16(POLLIN), revents: 0) }
    if orInput { files.append(pollfd(fd: input.file.raw, events: Int16(POLLIN), revents: 0)) }
    guard unsafe poll(&files, UInt(files.count), milliseconds) > 0 else { return ([], false) }
    let found = files.indices.filter { files[$0].revents != 0 }
    return (found.filter { $0 < workers.count }, found.last == workers.count)
  }
}

/// The bell and the wish to stop that a process and its workers share. Each worker calls these; in the process itself the
/// first two do nothing.
public final class Workers {
  /// The exit status of a worker that was stopped.
  fileprivate static let stopped: Int32 = 2
  /// Milliseconds that a worker which is to stop goes on waiting: its turn may come when another one's hash ends.
  private static let patience: UInt64 = 2_000

  private let parent = getpid()
  private let bell: Descriptor
  private var stopSeen: UInt64?

  /// The corresponding C function is `eventfd`.
  public init() throws(Errno) {
    bell = Descriptor(adopting: try retrying { cs_bell() })
  }

  /// Ends a worker if the process is gone that started it. The corresponding C function is `getppid`.
  public func endIfAlone() {
    if getpid() != parent, getppid() != parent { _exit(1) }
  }

  /// The same; and ends a worker that has been asked to stop for 2 s. For workers that wait, and have changed nothing.
  public func endIfStopped() {
    endIfAlone()
    guard getpid() != parent, Stops.isRequested, let now = SystemClock.bootMilliseconds() else { return }
    let seen = stopSeen ?? now
    stopSeen = seen
    if now - seen >= Workers.patience { _exit(Workers.stopped) }
  }

  /// Wakes those that wait now, or the next one that does.
  public func ring() { cs_ring(bell.raw) }

  /// Waits for a ring, up to so many milliseconds. The corresponding C function is `poll`.
  public func awaitRing(milliseconds: Int) { cs_await(bell.raw, Int32(clamping: milliseconds)) }
}

/// From here on Ctrl-C and the like wait until the program asks for them, unless they are ignored.
public enum Stops {
  /// The corresponding C function is `sigprocmask`.
  public static func hold() { cs_hold_stops() }

  /// Whether a signal to stop has come. The corresponding C function is `sigpending`.
  public static var isRequested: Bool { cs_stop_is_held() != 0 }
}

// What only batches and the servers do with locks.

extension ByteLock {
  /// Unlocks what `tryLock` locked.
  public static func unlock(_ file: borrowing Descriptor, at byte: Int) {
    cs_set_lock(file.raw, Int16(F_UNLCK), byte)
  }

  /// Whether no other open file has this byte locked. The corresponding C function is `fcntl`, F_OFD_GETLK.
  public static func isFree(_ file: borrowing Descriptor, at byte: Int) -> Bool {
    cs_is_unlocked(file.raw, byte) != 0
  }
}

extension Descriptor {
  /// Sets the time of the last access to now, and no other. The corresponding C function is `futimens`.
  @inline(never)
  public func touchAccess() throws(Errno) {
    try retrying { cs_touch_access(raw) }
  }
}
