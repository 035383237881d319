internal import CBus

/// The process that asks, by a connection that is our standard input.
///
/// - It MUST be of our own effective uid: root asks root.                               test_finger_socket.py
/// - Its end MUST be seen even where a process that it forked keeps its end of the connection open: by a pidfd, too.
///                                                                               test_finger_caller.py
public struct Caller: ~Copyable {
  private let process: CInt
  /// Its process id; while the pidfd is open and hasn't told its end, nobody else's. (Before Linux 6.5 the number alone
  /// leads to the process: one that ended at once, and whose child kept the connection, could be mistaken for another.)
  let number: pid_t

  /// Finds the process at the other end of the socket; nil if it has ended, or is somebody else's. The corresponding C
  /// functions are `getsockopt`, with SO_PEERCRED and SO_PEERPIDFD, and `pidfd_open`.
  public static func find() -> Caller? {
    var number: pid_t = -1
    let process = unsafe cb_watch_peer(&number)
    return process < 0 ? nil : Caller(process: process, number: number)
  }

  deinit {
    close(process)
  }

  /// Waits for the bus, or for the caller's end. The corresponding C function is `poll`.
  ///
  /// - Returns: whether the caller still waits: anything that can be read is the end of that, or Enter.
  public func waits(withMessagesFrom bus: borrowing SystemBus, milliseconds: UInt64) -> Bool {
    var polled = (
      pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
      pollfd(fd: process, events: Int16(POLLIN), revents: 0),
      bus.polled
    )
    // SAFETY: three of them, side by side.
    _ = unsafe withUnsafeMutableBytes(of: &polled) { buffer in
      unsafe poll(
        buffer.baseAddress?.assumingMemoryBound(to: pollfd.self), 3, CInt(min(milliseconds, 1_000)))
    }
    return polled.0.revents == 0 && polled.1.revents == 0
  }

  /// Waits for the caller's end alone; as above.
  public func waits(milliseconds: UInt64) -> Bool {
    var polled = (
      pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    )
    // SAFETY: two of them, side by side.
    _ = unsafe withUnsafeMutableBytes(of: &polled) { buffer in
      unsafe poll(
        buffer.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, CInt(min(milliseconds, 1_000)))
    }
    return polled.0.revents == 0 && polled.1.revents == 0
  }

  /// Waits for the bus alone, after the caller's end.
  public static func waitForMessages(from bus: borrowing SystemBus, milliseconds: UInt64) {
    var polled = bus.polled
    _ = unsafe poll(&polled, 1, CInt(min(milliseconds, 1_000)))
  }
}
