internal import CSystem

/// A helper program, started for one question, or for a look and the attempt after it, and the connection to it.
///
/// MUST (helper's caller) 3 to 6, in Helper.swift, are kept here. Besides:
///
/// - Every wait MUST end, however little comes how slowly, and whatever signals the host gets.       HelperProcessTests
/// - What is taken from it MUST be bounded.                                                          test_helper.py
/// - How the process ends MUST decide nothing: the host may wait for all its children itself. test_helper_host.py
public struct HelperProcess: ~Copyable {
  /// After the end of its stream a process needs a moment to be gone.
  private static let leave = 1_000

  let connection: HostedConnection
  private let process: pid_t

  /// Starts the program, which finds its end of a socketpair as its standard input; it gets no environment. The
  /// corresponding C functions are `socketpair` and `posix_spawn`.
  ///
  /// - Parameter takesProof: whether the program gets the argument `take-proof`; otherwise it gets none.
  public init(_ path: [UInt8], takesProof: Bool = false) throws(Errno) {
    var socket: Int32 = -1
    var child: pid_t = 0
    let error = unsafe cs_start_program(withNUL(path), takesProof ? 1 : 0, &socket, &child)
    if error != 0 { throw Errno(error) }
    connection = HostedConnection(adopting: socket)
    process = child
  }

  /// Reaps those of the user's that earlier calls left to themselves, and that have ended since: no call remembers them.
  public static func reapAbandoned(of user: UInt32) {
    cs_reap(user)
  }

  /// Reaps the process, if the host hasn't; one that doesn't end is left to itself.
  deinit {
    connection.end(SHUT_RDWR)
    for round in 0..<HelperProcess.leave {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      // Mostly it takes some microseconds, which everybody would wait for at a prompt.
      SystemClock.sleep(microseconds: round < 40 ? 25 : 1_000)
    }
  }

  /// Whether the helper still waits for another request.
  public var isWaiting: Bool { connection.isOurs && !hasInput(connection.raw, within: 0) }

  /// Sends a part of a request. They all fit into the connection's buffer: this doesn't wait.
  ///
  /// An error is none yet: the helper may have answered before it had read everything. The reply decides.
  public func send(_ bytes: [UInt8]) { unsafe connection.send(bytes, bytes.count) }
  public func send(_ passcode: borrowing Passcode) { unsafe connection.send(passcode.start, passcode.count) }
  public func send(_ password: borrowing Password) {
    unsafe connection.send(password.line.start, password.line.count)
  }

  /// Sends the end of the stream: there is no further request.
  public func endRequests() {
    connection.end(SHUT_WR)
  }

  /// A reply after which it waits for another request: it has no end of stream.
  public typealias Pause = (length: Int, secondByte: UInt8)

  /// In milliseconds.
  public typealias Patience = (withoutMovement: UInt64, altogether: UInt64)

  /// Everything up to the end of the stream, or `limit` + 1 bytes of it, or up to the pause (`poll`, `recv`). The stream ends
  /// where the host closes the connection.
  ///
  /// - Throws: ETIMEDOUT.
  public func reply(limit: Int, pause: Pause, _ patience: Patience) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var length = 0
    var movement = Movement(process)
    repeat {
      repeat { try movement.check(patience) } while !hasInput(connection.raw, within: 250)
      guard connection.isOurs else { break }
      let start = length
      // SAFETY: start < bytes.count.
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe recv(
          connection.raw, buffer.baseAddress.map { unsafe $0 + start }, limit + 1 - start, Int32(MSG_DONTWAIT)
        )
      }
      if got <= 0 { break }
      length += got
    } while length < bytes.count && !(length == pause.length && bytes[1] == pause.secondByte)
    return shortened(bytes, to: length)
  }
}

/// Tells whether a process does anything: one that is stopped or frozen uses no processor time.
private struct Movement {
  private let process: pid_t
  private let started: UInt64
  private var lastMove: UInt64
  private var seen: UInt64 = 0

  init(_ process: pid_t) {
    self.process = process
    started = SystemClock.bootMilliseconds() ?? 0
    lastMove = started
  }

  mutating func check(_ patience: HelperProcess.Patience) throws(Errno) {
    let used = cs_processor_time(process)
    guard let now = SystemClock.bootMilliseconds() else { throw Errno(ETIMEDOUT) }
    if used != seen { lastMove = now }
    seen = used
    if SystemClock.elapsed(from: lastMove, to: now) >= patience.withoutMovement
      || SystemClock.elapsed(from: started, to: now) >= patience.altogether
    {
      throw Errno(ETIMEDOUT)
    }
  }
}

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

  /// Sends what fits into the connection's buffer, without waiting. The corresponding C function is `send`.
  @inline(never)
  func send(_ start: UnsafeRawPointer, _ count: Int) {
    guard isOurs else { return }
    _ = unsafe CSystem.send(raw, start, count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }

  /// Sends the end of the stream, or of both (SHUT_WR, SHUT_RDWR). The corresponding C function is `shutdown`.
  @inline(never)
  func end(_ how: Int) {
    if isOurs { shutdown(raw, Int32(how)) }
  }
}
