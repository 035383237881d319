internal import CSystem

/// A connection in a process that is another program's: that may close it, and give its number to a file of its own.
///
/// - Nothing MUST be done to that file; nor may it be closed here.       test_helper_host.py, test_finger_socket.py
public struct HostedConnection: ~Copyable {
  let raw: Int32
  private let identity: UInt64

  init(adopting raw: Int32) {
    self.raw = raw
    identity = HostedConnection.identity(raw)
  }

  deinit {
    if isOurs { close(raw) }
  }

  /// Whether the number is still this connection's.
  var isOurs: Bool { HostedConnection.identity(raw) == identity }

  /// Tells one open file from another, by inode and device; 0 where it is closed.
  @inline(never)
  private static func identity(_ raw: Int32) -> UInt64 {
    var status = stat()
    return unsafe cs_status(raw, nil, &status) == 0 ? UInt64(status.st_ino) ^ UInt64(status.st_dev) << 48 : 0
  }

  /// Sends the end of the stream, or of both (SHUT_WR, SHUT_RDWR). The corresponding C function is `shutdown`.
  @inline(never)
  func end(_ how: Int) {
    if isOurs { shutdown(raw, Int32(how)) }
  }
}
