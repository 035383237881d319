internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// passcode-helper: reaches the store for callers that aren't root. Installed 6755 _passcode:_passcode.
//
// MUST (helper), here, in HelperOperation and in PasswordTries:
//  1  It takes nothing from its caller except the real uid and one bounded request: no argument, path, option, environment,
//     directory, descriptor, signal state or share of the machine; a limit that can't be lifted is a refusal. The
//     configuration is the default file.                  test_helper_attacks.py, test_helper_inheritance.py
//  3  It opens nothing of the store and holds no lock but its caller's own (10, 11) before it has become `_passcode` for
//     good (real, effective and saved ids, a session of its own, not dumpable). Until then its caller can stop it;
//     afterwards neither signal, trace nor `/proc` reach it, only a cgroup freeze does.      test_helper_attacks.py
//  4  A step that fails is a refusal.                                                    test_helper_inheritance.py
//  5  It gives one whole reply to a request, after record and slot are released. Its exit status decides nothing, and is 0
//     only after a reply.                                                test_helper_attacks.py, test_helper_host.py
//  6  A password is proven by the service `/etc/pam.d/passcode` alone, while the real uid is still the caller's (pam_unix's
//     own helper wants that) and before the store is opened. A missing file is a refusal. The module refuses to run in
//     that service.                                                                          test_selfservice.py
//  7  It ends: 30 s for a request with its password, 140 s for the rest.                     test_helper_time.py
//  8  After a look it waits 30 s for the attempt on the same account and for nothing else. Meanwhile it has no file of the
//     store open, holds no lock on it and keeps no secret.                                   test_helper_time.py
//  9  At most 16 helpers of one caller wait: each locks one byte of `/run/passcode/waiting` (`CallerSlot`). A helper that
//     gets no such lock answers the look and ends; the attempt then starts another one. Without a sound file none waits.
//                                                                                         test_helper_waiting.py
// 10  At most 128 helpers of one caller run: one more ends without reading its request. Without a sound
//     `/run/passcode/waiting` this limit does not hold.                                   test_helper_waiting.py

@main
struct Main {
  static func main() {
    exitProcess(run() ? 0 : 1)
  }

  /// - Returns: whether a reply was given.
  private static func run() -> Bool {
    guard HelperService.isConnected() else {
      HelperService.complain(
        Bytes(text: "passcode-helper: started by the PAM module and by passcode(1), not by hand\n"))
      return false
    }
    let caller = ProcessIdentity.current()
    do throws(Errno) {
      try HelperService.layDownInheritance(limit: 30)
    } catch {
      return false
    }
    do throws(Fault) {
      let slot = try CallerSlot.take(.running, for: caller.real)
      defer { withExtendedLifetime(slot) {} }
      return serve(caller)
    } catch {
      HelperService.reply(HelperReply(fault: error).bytes)
      HelperService.endReplies()
      return true
    }
  }

  private static func serve(_ caller: ProcessIdentity) -> Bool {
    guard let sodium = Sodium() else { return false }
    var connection = CallerConnection(caller, sodium)
    var kind: HelperReply.Kind
    repeat {
      guard let request = ReceivedRequest.read(sodium), connection.takes(request.head) else {
        var line = LogLine("passcode-helper: incomplete or malformed request")
        line.add("by_uid", UInt64(caller.real))
        SystemLog.notice(line.text)
        return false
      }
      let reply = connection.answer(request)
      kind = reply.kind
      HelperService.reply(reply.bytes)
      HelperService.limitTime(seconds: 30)
    } while kind == .openWaiting && HelperService.hasMore()
    HelperService.endReplies()
    return true
  }
}
