internal import CSystem

/// A connection to a service of root's, one process of its own for each connection.
///
/// - The other end MUST be root's: the process that listens, by SO_PEERCRED.          test_finger_socket.py
/// - No wait MUST last longer than it is told to, nor end sooner because the host gets a signal.  test_finger_prompt.py
/// - After a prompt the connection MUST still be this one: the host may have closed it, and given its number to another
///   file.                                                                            test_finger_socket.py
public struct RootService: ~Copyable {
  private let connection: HostedConnection

  /// Connects to the service's socket, without waiting for an answer. The corresponding C function is `connect`.
  ///
  /// - Throws: ENOENT where the service isn't installed, ECONNREFUSED where nobody listens, EPERM where that isn't root.
  public init(_ path: StaticString) throws(Errno) {
    var socket: Int32 = -1
    // SAFETY: a StaticString ends in NUL and lives for ever.
    let name = unsafe UnsafeRawPointer(path.utf8Start).assumingMemoryBound(to: CChar.self)
    let error = unsafe cs_connect_to_root(name, &socket)
    if error != 0 { throw Errno(error) }
    connection = HostedConnection(adopting: socket)
  }

  /// Sends a request, unless this is no longer its connection. It fits into the connection's buffer: this doesn't wait.
  public func send(_ bytes: [UInt8]) { unsafe connection.send(bytes, bytes.count) }

  /// What has come, up to `limit` bytes, by that time at the latest; empty: the stream has ended; nil: nothing yet, or
  /// this is no longer its connection. The corresponding C functions are `poll` and `recv`.
  ///
  /// - Parameter latest: CLOCK_BOOTTIME in milliseconds; without that clock everything is late.
  @inline(never)
  public func receive(limit: Int, until latest: UInt64) -> [UInt8]? {
    var state = pollfd(fd: connection.raw, events: Int16(POLLIN), revents: 0)
    let ready = try? retrying {
      let now = SystemClock.bootMilliseconds() ?? latest
      return unsafe poll(&state, 1, now < latest ? Int32(clamping: latest - now) : 0)
    }
    guard ready == 1, connection.isOurs else { return nil }
    var bytes = [UInt8](repeating: 0, count: limit)
    // SAFETY: the buffer has `limit` bytes.
    let got = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe recv(connection.raw, buffer.baseAddress, limit, Int32(MSG_DONTWAIT))
    }
    return shortened(bytes, to: max(0, got))
  }

  /// Tells the service that this is the end, even where a process that the host forked has the connection, too. The
  /// corresponding C function is `shutdown`.
  public func finish() {
    connection.end(SHUT_WR)
  }
}
