public import PasscodePolicy
public import PasscodeSystem

/// A fleet's verifier, as a workstation reaches it: by a socket that a TLS program listens on.
///
/// - Only root can have put the socket there: each folder above it MUST be root's. The TLS program checks who is at the
///   other end.                                                                          test_workstation.py
/// - A request MUST be sent once: what a verifier may have got isn't sent to another one.  test_workstation.py
/// - What isn't one whole reply MUST be `unavailable`, within 5 s of silence.              test_workstation.py
public final class Verifier {
  private let path: Bytes
  private let account: Bytes
  private let configuration: Configuration

  @inline(never)
  fileprivate init(path: Bytes, account: Bytes, configuration: Configuration) {
    self.path = path
    self.account = account
    self.configuration = configuration
  }

  /// Connects, and sends who it is about, and the head of a helper's request; its secrets are to follow.
  func begin(_ head: Bytes) throws(Fault) -> HelperProcess {
    guard try configuration.trust(.configuration).checkParents(of: path) else {
      throw unreachable(Errno.noEntry)
    }
    do throws(Errno) {
      let connection = try HelperProcess(connectingTo: path)
      connection.send(FleetRequest.head(account: account) + head)
      return connection
    } catch {
      throw unreachable(error)
    }
  }

  func finish(_ connection: consuming HelperProcess) throws(Fault) -> HelperReply {
    let answer: Bytes
    let patience = HelperProcess.Patience(withoutMovement: 5_000, altogether: 130_000)
    do throws(Errno) {
      answer = try connection.reply(limit: FleetReply.longest, pause: Helper.pause, patience)
    } catch {
      throw unreachable(error)
    }
    guard let reply = FleetReply.decoded(answer) else { throw unreachable(Errno(0)) }
    return reply
  }

  private func unreachable(_ error: Errno) -> Fault {
    Fault(.noVerifier, path: path, error: error.code)
  }

  /// Asks for the account's state.
  public func status() throws(Fault) -> HelperReply {
    try finish(begin(HelperRequest(.status, uid: FleetRecord.uid, lengths: HelperRequest.Lengths()).head()))
  }

  /// Asks to set a new passcode in place of the old one.
  public func change(_ change: borrowing PasscodeChange) throws(Fault) -> HelperReply {
    let lengths = HelperRequest.Lengths(passcode: change.old.passcode.count, new: change.new.passcode.count)
    let connection = try begin(HelperRequest(.change, uid: FleetRecord.uid, lengths: lengths).head())
    connection.send(change.old.passcode)
    connection.send(change.new.passcode)
    return try finish(connection)
  }
}

extension Configuration {
  /// The fleet's verifier, for one of its accounts; nil: the account's passcode is this machine's. Root's always is; and a
  /// person's own configuration has a store of its own.
  @inline(never)
  public func verifier(for account: Account) -> Verifier? {
    guard access == .root || access == .service, !options.policy.verifier.isEmpty,
      options.policy.verifierUsers.contains(account.uid)
    else { return nil }
    return Verifier(path: options.policy.verifier, account: account.name, configuration: self)
  }
}
