internal import CSystem

/// A helper program, started for one question, and the connection to it.
///
/// - It MUST be bounded: by time, however little comes how slowly, and by size.      test_helper_host.py
/// - How the process ends MUST decide nothing: a host may ignore SIGCHLD, or wait for all its children
///   itself. What counts is one whole reply and then the end of the stream.           test_helper_host.py
/// - No signal handler, mask or descriptor of the host MUST be touched; a closed connection is an error,
///   not SIGPIPE.                                                                      test_helper_host.py
public struct HelperProcess: ~Copyable {
  /// Longer than the helper's own waits (MUST 12 of the attempt protocol).
  private static let patience: UInt64 = 130_000
  /// After the end of its stream a process needs a moment to be gone.
  private static let leave = 1_000

  private let connection: Descriptor
  private let process: pid_t
  private let deadline: UInt64

  /// Starts the program, which finds its end of a socketpair as its standard input; it gets no argument and
  /// no environment. The corresponding C functions are `socketpair` and `posix_spawn`.
  public init(_ path: [UInt8]) throws(Errno) {
    var socket: Int32 = -1
    var child: pid_t = 0
    let error = unsafe withCString(path) { unsafe cs_start_program($0, &socket, &child) }
    if error != 0 { throw Errno(error) }
    connection = Descriptor(adopting: socket)
    process = child
    deadline = (SystemClock.bootMilliseconds() ?? 0) + HelperProcess.patience
  }

  /// Reaps the process, if the host hasn't; one that doesn't end is left to itself.
  deinit {
    for round in 0..<HelperProcess.leave {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      // Mostly it takes some microseconds, which everybody would wait for at a prompt.
      SystemClock.sleep(microseconds: round < 40 ? 25 : 1_000)
    }
  }

  /// Sends the head, the secrets in this order, and the end of the stream. Fits into the connection's buffer:
  /// doesn't wait.
  ///
  /// An error is none yet: the helper may have answered before it had read everything. The reply decides.
  public func send(_ head: [UInt8], _ secrets: borrowing Secrets, _ fields: [Secrets.Field]) {
    _ = unsafe CSystem.send(connection.raw, head, head.count, HelperProcess.quietly)
    for field in fields {
      _ = unsafe CSystem.send(
        connection.raw, secrets.start(field), secrets.count(field), HelperProcess.quietly)
    }
    shutdown(connection.raw, Int32(SHUT_WR))
  }

  private static var quietly: Int32 { Int32(MSG_NOSIGNAL | MSG_DONTWAIT) }

  /// Everything up to the end of the stream, or `limit` + 1 bytes of it; nothing where the helper ended without
  /// having read the request. The corresponding C functions are `poll` and `recv`.
  public func reply(limit: Int) throws(Errno) -> [UInt8] {
    do throws(Errno) {
      return try readReply(limit)
    } catch {
      if error == Errno(ECONNRESET) { return [] }
      throw error
    }
  }

  private func readReply(_ limit: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var length = 0
    while length < bytes.count {
      try wait()
      let start = length
      // SAFETY: start < bytes.count.
      let got = try retrying {
        unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe recv(connection.raw, buffer.baseAddress.map { unsafe $0 + start }, limit + 1 - start, 0)
        }
      }
      if got == 0 { break }
      length += got
    }
    bytes.removeLast(bytes.count - length)
    return bytes
  }

  /// Until something can be read.
  private func wait() throws(Errno) {
    while true {
      guard let now = SystemClock.bootMilliseconds(), now < deadline else { throw Errno(ETIMEDOUT) }
      var state = pollfd(fd: connection.raw, events: Int16(POLLIN), revents: 0)
      let left = Int32(deadline - now)  // at most `patience`
      if try retrying({ unsafe poll(&state, 1, left) }) > 0 { return }
    }
  }
}
