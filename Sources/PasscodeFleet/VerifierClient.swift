internal import PasscodeFleetPolicy
public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem
public import PasscodeVault

/// A fleet's verifier, as passcode-fleet reaches it: by a socket that a TLS program listens on.
///
/// MUST (fleet):
/// 14  Requests come from nobody else: on a workstation, each folder above the socket is root's, its listener is root or the
///     TLS program's account, and the socket's own folder is closed to all but root and `_passcode`; else nothing is asked. On a server, only root and stunnel's account
///     get an answer (SO_PEERCRED).                              test_workstation_attacks.py, test_workstation.py
/// 16  A request with a code is sent once, and once more to one other server, only if the verifier itself has said that it
///     isn't charged: no charge of it was sent, or each was refused or fenced. Silence, a cut reply and a connection that
///     fails say nothing. The connection of a look serves the attempt only if the verifier shows, before any of the
///     code is sent, that it is still waiting; else a new one is opened. A request without a code (a look, or a question
///     about a passcode's state) is also sent to another server if the first one gives no sign for 1.5 s, no reply for
///     3.5 s, or can't decide: it has no etcd, no memory for a hash, or not this workstation on its list.
///     test_fleet_hangs.py, test_fleet_uncharged.py, test_the_connection_of_a_look_serves_the_attempt,
///     test_a_connection_that_was_lost_meanwhile_is_opened_again
///
/// MUST (proof):
///  8  While a fleet's account is paused on a workstation, passcode-fleet asks no server to accept or to change its passcode,
///     no matter which program started it, and refuses even if a server that was asked before the pause accepts. It ends as
///     other pauses do. What can't be read is a refusal.                                test_workstation_pause.py
///
/// - What isn't one whole reply MUST be `unavailable`, within 5 s of silence.               test_workstation_attacks.py
/// - A server that hangs, or whose etcd does, MUST cost one login a minute 5 s at most.     test_fleet_hangs.py
public struct VerifierClient: ~Copyable {
  /// Milliseconds without a sign of the verifier.
  private static let silence: UInt64 = 5_000
  /// Milliseconds for an answer: at the socket that is asked first, if there is another one; and where it is the last.
  private static let firstAnswer: UInt64 = 3_500
  private static let lastAnswer: UInt64 = 130_000
  /// Milliseconds to the first sign where there are two sockets: at the one that is asked first, and at the other one.
  private static let patience: UInt64 = 1_500
  private static let rest: UInt64 = 3_000
  /// If the first sign takes as many milliseconds as this, the next process asks at the other socket first.
  private static let slow: UInt64 = 1_000
  /// Milliseconds within which a server must have said that it hasn't charged an attempt, for another one to be asked.
  private static let early: UInt64 = 40_000
  /// Milliseconds for the sign that the verifier of a look still waits.
  private static let stillThere: UInt64 = 1_000

  private let account: Account
  private let configuration: Configuration
  private let isForRoot: Bool
  private var path: Bytes { configuration.options.policy.verifier }
  /// Between a look and the attempt.
  private var waiting: VerifierConnection?
  /// The socket of the connection that was used last.
  private var asked = Bytes()
  /// Whether the verifier's last reply said that it hasn't charged the attempt.
  private var isUncharged = false
  /// From the first connection of a request to the first sign of a verifier, at either socket.
  private var turn: CallerSlot.Connecting?

  /// - Precondition: the options say that the account's passcode is the fleet's (`asksVerifier`).
  /// - Parameter isForRoot: whether one of root's programs asks, and not a helper.
  public init(for account: Account, _ configuration: Configuration, isForRoot: Bool) {
    self.account = account
    self.configuration = configuration
    self.isForRoot = isForRoot
  }

  /// Asks what the module, or the helper, has asked. While the account is paused here no server is asked for anything but its
  /// passcode's state, and what one grants to an attempt that was sent before is refused.
  ///
  /// - Returns: `openWaiting` only if the connection waits for the attempt.
  public mutating func reply(to request: borrowing ReceivedRequest) throws(Fault) -> HelperReply {
    guard try configuration.isPausedHere(account) else {
      let reply = try ask(request)
      if reply.kind != .granted { return reply }
      // It may have been paused while a server decided.
      return try configuration.isPausedHere(account) ? HelperReply(.paused) : reply
    }
    guard request.head.operation == .status else { return HelperReply(.paused) }
    // It must be possible to end a pause while no server answers.
    var status = HelperStatus(.paused, isEnrolled: true)
    if let reply = try? ask(request), let known = HelperStatus(reply) {
      status = known
      if known.state != .disabled { status.state = .paused }
    }
    return status.reply
  }

  /// With the account's name in place of its uid. Whether the account has logged in since the machine started was asked
  /// before, and is nothing that a verifier knows.
  private mutating func ask(_ request: borrowing ReceivedRequest) throws(Fault) -> HelperReply {
    let head = HelperRequest(
      request.head.operation, uid: FleetRecord.uid,
      HelperRequest.Conditions(isSecondFactor: request.head.conditions.isSecondFactor),
      lengths: request.head.lengths, serviceLength: request.head.serviceLength)
    guard FleetRequest.allows(head) else { return HelperReply(.closed) }
    defer { turn = nil }
    let sockets = VerifierSockets(path)
    // A request of these kinds contains no code, and isn't counted, so it may be sent again.
    if let second = sockets.second, head.operation == .look || head.operation == .status {
      let first = try? ask(sockets.first, VerifierClient.patience, VerifierClient.firstAnswer, head, request)
      if let first, first.kind != .unavailable { return first }
      let isListed = first?.fault?.reason != .notListed
      if isListed { sockets.avoid(sockets.first) }
      do throws(Fault) {
        return try ask(second, VerifierClient.rest, VerifierClient.lastAnswer, head, request)
      } catch {
        // It says what to do.
        if let first, !isListed { return first }
        throw error
      }
    }
    let started = SystemClock.bootMilliseconds() ?? 0
    let reply = try ask(sockets.first, VerifierClient.silence, VerifierClient.lastAnswer, head, request)
    guard isUncharged, since(started) < VerifierClient.early, let other = sockets.other(than: asked) else {
      return reply
    }
    sockets.avoid(asked)
    return try ask(
      other, VerifierClient.silence, VerifierClient.lastAnswer - VerifierClient.early, head, request)
  }

  /// - Parameters:
  ///   - limit: milliseconds before the first sign.
  ///   - longest: milliseconds for the whole reply.
  private mutating func ask(
    _ socket: Bytes, _ limit: UInt64, _ longest: UInt64, _ head: HelperRequest,
    _ request: borrowing ReceivedRequest
  ) throws(Fault) -> HelperReply {
    let connection = try begin(socket, within: limit) {
      $0.send(head.head() + request.service)
      $0.send(request.secrets.passcode)
      $0.send(request.secrets.change.new.passcode)
    }
    let isLook = head.operation == .look
    let answer: Bytes
    do throws(Errno) {
      answer = try connection.reply(
        limit: FleetReply.longest, silence: VerifierClient.silence, altogether: longest
      ) { isLook && FleetReply.isWaiting($0) }
    } catch {
      throw unreachable(error)
    }
    isUncharged = FleetReply.isUncharged(answer)
    guard let reply = FleetReply.decoded(answer) else {
      throw unreachable(answer.isEmpty ? .reset : .badMessage)
    }
    guard reply.kind == .openWaiting else { return reply }
    guard isLook else { throw unreachable(.badMessage) }
    waiting = consume connection
    return reply
  }

  /// A connection on which the request was sent: the account's name, then the rest.
  private mutating func begin(
    _ socket: Bytes, within limit: UInt64, _ sendRest: (borrowing VerifierConnection) -> Void
  ) throws(Fault) -> VerifierConnection {
    let name = FleetRequest.head(account: account.name)
    if let old = waiting.take(), old.isQuiet {
      old.send(name)
      if old.hasInput(within: VerifierClient.stillThere), old.byte() == FleetReply.atWork {
        sendRest(old)
        return old
      }
    }
    // Once for a request: the wait for the other socket isn't another one.
    if turn == nil { turn = CallerSlot.takeToConnect(for: account.uid, isForRoot: isForRoot) }
    let started = SystemClock.bootMilliseconds() ?? 0
    let connection = try connect(socket)
    asked = socket
    connection.send(name)
    sendRest(connection)
    let hasSign = connection.hasInput(within: limit - min(since(started), limit))
    if since(started) >= VerifierClient.slow { VerifierSockets(path).avoid(socket) }
    guard hasSign else { throw unreachable(.timedOut) }
    turn = nil
    return connection
  }

  private func since(_ started: UInt64) -> UInt64 {
    SystemClock.elapsed(from: started, to: SystemClock.bootMilliseconds() ?? .max)
  }

  private func connect(_ socket: Bytes) throws(Fault) -> VerifierConnection {
    guard try configuration.trust(.configuration).checkParents(of: path) else {
      throw unreachable(Errno.noEntry)
    }
    let folder = Bytes(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
    do throws(Errno) {
      guard try FileStatus.of(folder).mode & 0o007 == 0 else { throw Errno.denied }
      var listeners: [UInt32] = [0]
      if case .found(let account) = Account.named(Bytes(text: "stunnel4")) { listeners.append(account.uid) }
      return try VerifierConnection.open(socket, listeners: listeners)
    } catch {
      throw unreachable(error)
    }
  }

  private func unreachable(_ error: Errno) -> Fault {
    Fault(.failed, path: path, error: error.code)
  }
}
