internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// passcode-fleet: on a workstation, asks its fleet's verifier. Root's own, no bits; started by the module where that is
// root, and by passcode-helper, with their requests (HelperMessage.swift). All that has to do with the network is here.
//
// MUST (passcode-fleet):
//  1  It answers root and `_passcode` alone, and is `_passcode` before it connects.         test_workstation_attacks.py
//  2  Nothing of its caller counts but who that is and one bounded request: no argument, environment or descriptor.
//                                                                                           test_workstation_attacks.py
//  3  It asks only about accounts that the configuration says are the fleet's, and never about root.
//                                                                                           test_workstation_attacks.py
//  4  One reply to a request. After a look it waits 30 s for the attempt on the same account, and for nothing else,
//     with its connection to the verifier: another one costs as much again. Meanwhile it holds no secret. Whatever
//     keeps it from the verifier's reply is `unavailable`.                                  test_workstation_attacks.py
//  5  It ends: 140 s for a request.                                                         test_workstation_attacks.py
//
// While root or the account's owner has paused the passcode here, it asks no server to accept or to change it: VerifierClient.swift.

@main
struct Main {
  static func main() {
    exitProcess(run() ? 0 : 1)
  }

  /// - Returns: whether a reply was given.
  private static func run() -> Bool {
    guard HelperService.isConnected() else {
      Stream.error.write(
        Bytes(text: "passcode-fleet: started by the PAM module and by passcode-helper, not by hand\n"))
      return false
    }
    let caller = ProcessIdentity.current()
    do throws(Errno) {
      try HelperService.layDownInheritance(limit: 140)
    } catch {
      return false
    }
    guard let sodium = Sodium() else { return false }
    var verifier: VerifierClient?
    var looked: UInt32?
    var reply: HelperReply
    repeat {
      guard let request = ReceivedRequest.read(sodium),
        looked == nil || request.head.operation.isAttempt && request.head.uid == looked
      else {
        var line = LogLine("passcode-fleet: incomplete or malformed request")
        line.add("by_uid", UInt64(caller.real))
        SystemLog.notice(line.text)
        return false
      }
      HelperService.limitTime(seconds: 140)
      reply = self.reply(to: request, from: caller, &verifier)
      looked = request.head.uid
      HelperService.reply(reply.bytes)
      HelperService.limitTime(seconds: 30)
    } while reply.kind == .openWaiting && HelperService.hasMore()
    HelperService.endReplies()
    return true
  }

  private static func reply(
    to request: borrowing ReceivedRequest, from caller: ProcessIdentity, _ verifier: inout VerifierClient?
  ) -> HelperReply {
    do throws(Fault) {
      var asked: VerifierClient
      if let looked = verifier.take() {
        asked = looked
      } else {
        guard try becomeService(caller) else { return HelperReply(.notPermitted) }
        asked = try self.verifier(for: request.head, from: caller)
      }
      let reply = try asked.reply(to: request)
      verifier = consume asked
      return reply
    } catch {
      return HelperReply(fault: error)
    }
  }

  private static func verifier(
    for head: HelperRequest, from caller: ProcessIdentity
  ) throws(Fault) -> VerifierClient {
    let account: Account
    switch Account.numbered(head.uid) {
    case .found(let found): account = found
    case .unknown: throw Fault(.noAccount, number: UInt64(head.uid))
    case .failed(let error): throw Fault(.accountLookup, error: error.code)
    }
    let configuration = try Configuration.loadForService(
      isSecondFactor: head.conditions.isSecondFactor)
    // A module line may name another file (`conf=`).
    guard configuration.options.policy.asksVerifier(account.uid) else {
      throw Fault(.failed, path: Configuration.usualPath, error: Errno.invalid.code)
    }
    return VerifierClient(for: account, configuration, isForRoot: caller.effective == 0)
  }

  /// - Returns: false where the caller is neither root nor the helper.
  private static func becomeService(_ caller: ProcessIdentity) throws(Fault) -> Bool {
    let service = try Helper.account()
    if caller.effective != 0 {
      return caller.real == service.uid && caller.effective == service.uid && caller.saved == service.uid
    }
    do throws(Errno) {
      try HelperService.leaveGroups()
      try HelperService.become(service)
    } catch {
      throw Fault(.failed, path: Installed.path(of: .fleet), error: error.code)
    }
    return true
  }
}
