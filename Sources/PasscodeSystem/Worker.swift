internal import CSodium
internal import CSystem

/// A copy of this process that works for it, one task after the other. For programs with one thread.
///
/// - It MUST end by itself once this process is gone: its connection then ends.            test_batch.py
/// - A passcode MUST only be in guarded memory on either side; in between it is the kernel's.
public final class Worker {
  private let connection: Descriptor
  /// Its process id.
  public let process: Int32

  private init(_ connection: consuming Descriptor, _ process: pid_t) {
    self.connection = connection
    self.process = process
  }

  /// Starts one. The corresponding C functions are `socketpair` and `fork`.
  ///
  /// - Parameter body: what the copy does, with its end of the connection; then it ends. Whatever secrets it has from
  ///   this process it should wipe first.
  public static func start(_ body: (Worker) -> Void) throws(Errno) -> Worker {
    var connection: Int32 = -1
    let child = try retrying { unsafe cs_fork_worker(&connection) }
    let worker = Worker(Descriptor(adopting: connection), child)
    guard child == 0 else { return worker }
    // What is locked in memory isn't locked in the copy: it gets memory of its own.
    if let kept = unsafe cs_take_kept_memory() { unsafe sodium_free(kept) }
    body(worker)
    _exit(0)
  }

  private static let longest = 2_048

  /// Sends a message of at most 2,048 bytes; if the other end is gone, that is noticed when its answer is read.
  public func send(_ message: [UInt8]) {
    let length = min(message.count, Worker.longest)
    _ = try? retrying { unsafe CSystem.send(connection.raw, message, length, Int32(MSG_NOSIGNAL)) }
  }

  /// Waits for a message; nil: the other end is gone.
  public func receive() -> [UInt8]? {
    var message = [UInt8](repeating: 0, count: Worker.longest)
    let length = (try? retrying { unsafe recv(connection.raw, &message, message.count, 0) }) ?? 0
    return length > 0 ? [UInt8](message.prefix(length)) : nil
  }

  /// Sends a passcode.
  public func send(_ passcode: borrowing Passcode) {
    let (place, length) = unsafe (passcode.start, passcode.count)
    _ = try? retrying { unsafe CSystem.send(connection.raw, place, length, Int32(MSG_NOSIGNAL)) }
  }

  /// Waits for a passcode; the line is empty if the other end is gone.
  public func receive(_ line: inout TypedLine) {
    line.wipe()
    let place = unsafe line.start
    line.count = max(0, (try? retrying { unsafe recv(connection.raw, place, TypedLine.longest, 0) }) ?? 0)
  }

  /// Waits for a process that nobody has a connection to any more. The corresponding C function is `waitpid`.
  public static func reap(_ process: Int32) {
    _ = try? retrying { waitpid(process, nil, 0) }
  }

  /// Which of these can be read without waiting; waits for that up to so many milliseconds. The corresponding C
  /// function is `poll`.
  ///
  /// - Returns: indices of the workers; and whether `input` is one of them, which is asked only with `orInput`.
  public static func ready(
    _ workers: [Worker], _ input: borrowing GuardedLines, orInput: Bool, within milliseconds: Int32
  ) -> (workers: [Int], input: Bool) {
    var files = workers.map { pollfd(fd: $0.connection.raw, events: Int16(POLLIN), revents: 0) }
    if orInput { files.append(pollfd(fd: input.file.raw, events: Int16(POLLIN), revents: 0)) }
    guard unsafe poll(&files, UInt(files.count), milliseconds) > 0 else { return ([], false) }
    let found = files.indices.filter { files[$0].revents != 0 }
    return (found.filter { $0 < workers.count }, found.last == workers.count)
  }
}

/// From here on Ctrl-C and the like wait until the program asks for them.
public enum Stops {
  /// The corresponding C function is `sigprocmask`.
  public static func hold() { cs_hold_stops() }

  /// Whether one came. The corresponding C function is `sigpending`.
  public static var isRequested: Bool { cs_stop_is_held() != 0 }
}
