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
/// - The worker's secrets MUST be in its own locked memory before it does anything, and it MUST have no other secrets of
///   this process.                                                                   test_batch.py
/// - No signal that can be blocked MUST interrupt it: Ctrl-C and Ctrl-Z are for the process that started it. It MUST end
///   when that process ends.                                                         test_batch.py
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
    secrets.lockAgain()
    worker.send([1])
    worker.send(task(&secrets))
    _exit(0)
  }

  private func send(_ bytes: [UInt8]) {
    let count = min(bytes.count, Worker.longest)
    _ = try? retrying { unsafe CSystem.write(result.raw, bytes, count) }
  }

  /// Waits for the worker's result and its end; empty: it died. The corresponding C functions are `read` and `waitpid`.
  public func finish() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Worker.longest)
    let count = (try? retrying { unsafe CSystem.read(result.raw, &bytes, bytes.count) }) ?? 0
    var status: Int32 = 0
    _ = try? retrying { unsafe waitpid(process, &status, 0) }
    return [UInt8](bytes.prefix(count))
  }

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

/// From here on Ctrl-C and the like wait until the program asks for them, unless they are ignored.
public enum Stops {
  /// The corresponding C function is `sigprocmask`.
  public static func hold() { cs_hold_stops() }

  /// Whether a signal to stop has come. The corresponding C function is `sigpending`.
  public static var isRequested: Bool { cs_stop_is_held() != 0 }
}
