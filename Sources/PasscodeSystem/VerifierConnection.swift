internal import CSystem

/// A connection to a fleet's verifier, by a socket in the file system.
///
/// - Every wait MUST end, however little comes how slowly, and what is taken MUST be bounded.   test_workstation_attacks.py
public struct VerifierConnection: ~Copyable {
  private let socket: Descriptor

  /// The corresponding C functions are `connect` and `getsockopt` (SO_PEERCRED).
  ///
  /// - Parameter listeners: who may listen there.
  /// - Throws: EPERM where somebody else listens, EAGAIN where too many wait to be accepted.
  public static func open(_ path: [UInt8], listeners: [UInt32]) throws(Errno) -> VerifierConnection {
    let connection = VerifierConnection(try retrying { unsafe cs_connect_path(path + [0]) })
    guard listeners.contains(cs_peer_user(connection.socket.raw)) else { throw Errno(EPERM) }
    return connection
  }

  private init(_ socket: Int32) {
    self.socket = Descriptor(adopting: socket)
  }

  /// Sends a part of a request. They all fit into the connection's buffer: this doesn't wait.
  ///
  /// An error is none yet: the reply decides.
  public func send(_ bytes: [UInt8]) {
    _ = unsafe CSystem.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }

  public func send(_ passcode: borrowing Passcode) {
    _ = unsafe CSystem.send(
      socket.raw, passcode.start, passcode.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }

  /// Everything up to the end of the stream, or `limit` + 1 bytes of it. The corresponding C functions are `poll` and
  /// `recv`.
  ///
  /// - Parameters:
  ///   - silence: milliseconds after which nothing more is waited for.
  ///   - altogether: milliseconds for all of it.
  /// - Throws: ETIMEDOUT, or the connection's error.
  public func reply(limit: Int, silence: UInt64, altogether: UInt64) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1_024)
    guard let started = SystemClock.bootMilliseconds() else { throw Errno(ETIMEDOUT) }
    var last = started
    while bytes.count <= limit {
      guard let now = SystemClock.bootMilliseconds(), SystemClock.elapsed(from: last, to: now) < silence,
        SystemClock.elapsed(from: started, to: now) < altogether
      else { throw Errno(ETIMEDOUT) }
      var state = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&state, 1, 250) <= 0 { continue }
      let got = try retrying { unsafe recv(socket.raw, &part, part.count, Int32(MSG_DONTWAIT)) }
      if got <= 0 { break }
      bytes += part.prefix(min(got, limit + 1 - bytes.count))
      last = now
    }
    return bytes
  }
}
