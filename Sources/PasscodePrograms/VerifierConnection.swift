internal import CSystem
public import PasscodeSystem

/// A connection to a fleet's verifier, by a socket in the file system.
///
/// - Every wait MUST end, however little comes how slowly, and what is taken MUST be bounded.   test_workstation_attacks.py
public struct VerifierConnection: ~Copyable {
  private let socket: Descriptor

  /// The corresponding C functions are `connect` and `getsockopt` (SO_PEERCRED).
  ///
  /// - Parameter listeners: who may listen there.
  /// - Throws: EPERM where somebody else listens, EAGAIN where too many have waited for 4 s to be accepted.
  public static func open(_ path: [UInt8], listeners: [UInt32]) throws(Errno) -> VerifierConnection {
    let raw = try retrying { unsafe cs_connect_path(path + [0], 4) }
    let connection = VerifierConnection(socket: Descriptor(adopting: raw))
    guard listeners.contains(cs_peer_user(connection.socket.raw)) else { throw Errno(EPERM) }
    return connection
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

  /// Whether the connection is open, and nothing has come that nobody asked for.
  public var isQuiet: Bool { !hasInput(within: 0) }

  /// Waits for something to read, or for the end of the stream.
  public func hasInput(within milliseconds: UInt64) -> Bool {
    PasscodeSystem.hasInput(socket.raw, within: Int32(clamping: milliseconds))
  }

  /// Takes one byte; nil: there is none now.
  public func byte() -> UInt8? {
    var byte: UInt8 = 0
    let got = try? retrying { unsafe recv(socket.raw, &byte, 1, Int32(MSG_DONTWAIT)) }
    return got == 1 ? byte : nil
  }

  /// Everything up to the end of the stream, or `limit` + 1 bytes of it, or until it is whole. The corresponding C
  /// functions are `poll` and `recv`.
  ///
  /// - Parameters:
  ///   - isWhole: whether nothing can follow these bytes, though the stream may stay open.
  ///   - silence: milliseconds after which nothing more is waited for.
  ///   - altogether: milliseconds for all of it.
  /// - Throws: ETIMEDOUT, or the connection's error.
  public func reply(
    limit: Int, silence: UInt64, altogether: UInt64, isWhole: ([UInt8]) -> Bool
  ) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1_024)
    guard let started = SystemClock.bootMilliseconds() else { throw Errno(ETIMEDOUT) }
    var last = started
    while bytes.count <= limit {
      guard let now = SystemClock.bootMilliseconds(), SystemClock.elapsed(from: last, to: now) < silence,
        SystemClock.elapsed(from: started, to: now) < altogether
      else { throw Errno(ETIMEDOUT) }
      if !hasInput(within: 250) { continue }
      let got = try retrying { unsafe recv(socket.raw, &part, part.count, Int32(MSG_DONTWAIT)) }
      if got <= 0 { break }
      bytes += part.prefix(min(got, limit + 1 - bytes.count))
      if isWhole(bytes) { break }
      last = now
    }
    return bytes
  }
}
