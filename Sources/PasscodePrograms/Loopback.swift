internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

/// A TCP connection to a program of this machine, by 127.0.0.1.
///
/// - Anyone may have bound the port. `isOwned` MUST be true before anything secret goes there, or anything is believed.
/// - Every wait MUST end, and what is taken MUST be bounded.
///                                                                LoopbackTests, test_verifier_attacks.py
public final class LoopbackConnection {
  private let socket: Descriptor
  private let port: UInt16
  private let own: UInt16

  /// The corresponding C function is `connect`.
  public init(port: UInt16) throws(Errno) {
    var own: UInt16 = 0
    socket = Descriptor(adopting: try retrying { unsafe cs_connect_loopback(port, &own) })
    self.port = port
    self.own = own
  }

  /// Whether a process of one of these users has accepted the connection, as the kernel shows it: see sock_diag(7), and
  /// `/proc/net/tcp` in proc(5). Waits up to 2 s for somebody to accept it.
  ///
  /// Until somebody accepts it, older kernels show root as the owner, and no inode. Owner and inode of a row are not read
  /// at the same moment, so root is believed only in a row that is read after one with an inode.
  public func isOwned(by users: [UInt32]) -> Bool {
    let started = SystemClock.bootMilliseconds() ?? 0
    var wasAccepted = false
    var pause = 100
    while let now = SystemClock.bootMilliseconds(), SystemClock.elapsed(from: started, to: now) < 2_000 {
      guard let row = askForRow() ?? readRow(until: started + 2_000), row.isEstablished || row.isOpening
      else {
        return false
      }
      if row.isAccepted {
        if row.user != 0 || wasAccepted { return users.contains(row.user) }
        wasAccepted = true
        continue
      }
      SystemClock.sleep(microseconds: pause)
      pause = min(pause * 2, 20_000)
    }
    return false
  }

  /// The kernel's row for the other end of the connection; nil if there is none, or the kernel can't be asked.
  func askForRow() -> ConnectionRow? {
    var peer = cs_socket()
    guard unsafe cs_loopback_peer(port, own, &peer) == 0 else { return nil }
    return ConnectionRow(
      isEstablished: peer.established, isOpening: peer.opening, user: peer.user, inode: UInt64(peer.inode))
  }

  /// The row of the other end's socket; nil: there is none, or the table was too long to be read in time. For each read the
  /// kernel walks through a table whose size depends on the memory: that takes milliseconds.
  func readRow(until deadline: UInt64) -> ConnectionRow? {
    guard let file = try? Descriptor.open(Bytes(text: "/proc/net/tcp"), .read) else { return nil }
    var (offset, rest) = (0, [UInt8]())
    while let now = SystemClock.bootMilliseconds(), now < deadline,
      let part = try? file.read(LoopbackConnection.part, at: offset)
    {
      offset += part.count
      rest += part
      let end = rest.lastIndex(of: 10).map { $0 + 1 } ?? 0
      if let row = ConnectionRow.find(in: rest[..<end], local: port, remote: own) { return row }
      if part.count < LoopbackConnection.part { return nil }
      rest.removeFirst(end)
    }
    return nil
  }

  private static let part = 65_536

  /// Sends a request, and reads until it is answered.
  ///
  /// - Parameters:
  ///   - milliseconds: for all of it.
  ///   - limit: bytes of an answer.
  ///   - isWhole: whether this is the whole answer; nil: it is none.
  /// - Throws: ETIMEDOUT, EBADMSG, or the connection's error.
  public func ask(
    _ request: [UInt8], within milliseconds: UInt64, limit: Int, isWhole: ([UInt8]) -> Bool?
  ) throws(Errno) -> [UInt8] {
    var sent = 0
    while sent < request.count {
      let rest = [UInt8](request[sent...])
      sent += try retrying { unsafe CSystem.send(socket.raw, rest, rest.count, Int32(MSG_NOSIGNAL)) }
    }
    var answer: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    let started = SystemClock.bootMilliseconds() ?? 0
    while true {
      guard let now = SystemClock.bootMilliseconds(), now - started < milliseconds else {
        throw Errno(ETIMEDOUT)
      }
      if !hasInput(socket.raw, within: Int32(milliseconds - (now - started))) { continue }
      let got = try retrying { unsafe recv(socket.raw, &part, part.count, Int32(MSG_DONTWAIT)) }
      guard got > 0, answer.count + got <= limit else { throw Errno(EBADMSG) }
      answer += part.prefix(got)
      guard let isWhole = isWhole(answer) else { throw Errno(EBADMSG) }
      if isWhole { return answer }
    }
  }
}

/// A verifier's own side, beside what it has in common with a helper.
public enum VerifierService {
  /// Who is at the other end of standard input; nil: not known. The corresponding C function is `getsockopt`.
  public static func peer() -> UInt32? {
    let user = cs_peer_user(0)
    return user == .max ? nil : user
  }

  /// Starts this program anew, without arguments, for each connection to the socket that systemd handed over
  /// (sd_listen_fds(3)); the connection is its standard input. Returns only where it can't go on.
  ///
  /// - Parameters:
  ///   - most: so many at a time; one more connection is closed (EBUSY).
  ///   - closed: called with what kept a connection from being served.
  /// - Returns: ENOTSOCK: there is no such socket.
  public static func accept(most: UInt32, closed: (Errno) -> Void) -> Errno {
    var hasEnded = false
    while true {
      let error = Errno(unsafe cs_accept(most, &hasEnded))
      if hasEnded { return error }
      closed(error)
    }
  }

  /// Gives a sign at once, and one each second while there is no room in the queue there.
  private static func connect(_ path: [UInt8]) throws(Errno) -> Descriptor {
    var seconds = 0
    while true {
      _ = unsafe CSystem.send(1, [0], 1, Int32(MSG_NOSIGNAL))
      do throws(Errno) {
        return Descriptor(adopting: try retrying { unsafe cs_connect_path(path + [0], 1) })
      } catch {
        seconds += 1
        guard error == .wouldBlock, seconds < 20 else { throw error }
      }
    }
  }

  /// Sends the relay's own reply, and waits until the other end closes: what is unread at a close may cost it the reply.
  /// That may hold a passcode: as in `relay`, there is no core dump, and nobody but root can begin to trace this process.
  ///
  /// - Parameter seconds: the kernel ends this process after so many.
  public static func replyAndWait(_ reply: [UInt8], seconds: UInt32) {
    alarm(seconds)
    if cs_forbid_dumps() != 0 { return }
    HelperService.reply(reply)
    shutdown(0, Int32(SHUT_WR))
    while HelperService.receive(4_096) != nil {}
  }

  /// The relay's work: sends a head to the socket, then copies both ways until it ends. Until something comes from there,
  /// it sends a sign each second, for 20 s. Passcodes pass through this process: it leaves no core dump, and nobody but
  /// root can begin to trace it.
  ///
  /// - Parameter seconds: the kernel ends this process after so many.
  public static func relay(to path: [UInt8], head: [UInt8], seconds: UInt32) throws(Errno) {
    alarm(seconds)
    let forbidden = cs_forbid_dumps()
    if forbidden != 0 { throw Errno(forbidden) }
    let socket = try connect(path)
    _ = unsafe CSystem.send(socket.raw, head, head.count, Int32(MSG_NOSIGNAL))
    try copy(socket)
  }

  /// Copies both ways, until the verifier ends its side.
  private static func copy(_ verifier: borrowing Descriptor) throws(Errno) {
    var ends = (
      pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
      pollfd(fd: verifier.raw, events: Int16(POLLIN), revents: 0)
    )
    var signs = 0
    var hasHeard = false
    while true {
      let ready = try retrying {
        unsafe withUnsafeMutableBytes(of: &ends) { ends in
          unsafe poll(ends.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, hasHeard ? -1 : 1_000)
        }
      }
      if ready == 0 {
        // The verifier has not begun yet: the machine has much to do.
        signs += 1
        guard signs <= 20, unsafe CSystem.send(1, [0], 1, Int32(MSG_NOSIGNAL)) == 1 else {
          throw Errno(ETIMEDOUT)
        }
        continue
      }
      if ends.1.revents != 0 {
        hasHeard = true
        guard try pass(from: verifier.raw, to: 1) else { return }
      }
      if ends.0.revents != 0, try !pass(from: 0, to: verifier.raw) {
        // A request says how long it is: what ends here may be only half of the connection.
        shutdown(verifier.raw, Int32(SHUT_WR))
        ends.0.fd = -1
      }
    }
  }

  /// Passes on what is there; false: nothing more comes.
  private static func pass(from source: Int32, to target: Int32) throws(Errno) -> Bool {
    var part = [UInt8](repeating: 0, count: 4_096)
    let got = try retrying { unsafe CSystem.read(source, &part, part.count) }
    part.removeLast(part.count - got)
    while !part.isEmpty {
      let sent = try retrying { unsafe CSystem.send(target, part, part.count, Int32(MSG_NOSIGNAL)) }
      part.removeFirst(sent)
    }
    return got > 0
  }
}
