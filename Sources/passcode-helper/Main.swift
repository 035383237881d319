internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// passcode-helper: reaches the store for callers that aren't root. Installed 6755 _passcode:_passcode.
//
// MUST, and what shows it:
//  1  Nothing of the caller counts but its real uid and one bounded request: no argument, environment, folder,
//     descriptor, signal state or share of the machine; a limit that can't be lifted is a refusal.
//                                                           test_helper_attacks.py, test_helper_inheritance.py
//  2  The right to ask comes from the table (HelperOperation), and from nowhere else.
//                                                                                    test_helper_attacks.py
//  3  Before it is `_passcode` for good, it has opened nothing of the store and holds no lock but its slot (10); from
//     then on its caller can't signal, trace or read it.                                         test_helper_attacks.py
//  4  A step that fails is a refusal.                                             test_helper_inheritance.py
//  5  One reply to a request, given after record and hashing slot are released; the exit status says nothing, and is
//     0 only after a reply.                                                           test_helper_attacks.py
//  6  A password is proven by the service file /etc/pam.d/passcode and nothing else, before the store is
//     opened.                                                                         test_selfservice.py
//  7  It ends: 30 s for a request and the password, 140 s for the rest.               test_helper_time.py
//  8  After a look it waits 30 s for the attempt on the same account, and for nothing else. Meanwhile it has
//     nothing open but the file of the next two MUSTs and, for a fleet, its connection to passcode-fleet, and holds
//     no other lock and no secret.                                                    test_helper_time.py
//  9  At most 16 helpers of one caller wait so: each holds a `CallerSlot`. Without one it answers the look, says
//     that it doesn't wait, and ends.                                              test_helper_waiting.py
// 10  At most 128 helpers of one caller run, whatever they wait for; one more ends without reading its request.
//                                                                                    test_helper_waiting.py

@main
struct Main {
  static func main() {
    exitProcess(run() ? 0 : 1)
  }

  /// - Returns: whether a reply was given.
  private static func run() -> Bool {
    guard HelperService.isConnected() else {
      Stream.error.write(
        Bytes(text: "passcode-helper: started by the PAM module and by passcode(1), not by hand\n"))
      return false
    }
    let caller = ProcessIdentity.current()
    do throws(Errno) {
      try HelperService.layDownInheritance(limit: 30)
    } catch {
      return false
    }
    let slot = CallerSlot.take(.running, for: caller.real)
    defer { withExtendedLifetime(slot) {} }
    if slot.areAllTaken {
      HelperService.reply(HelperReply(fault: tooMany).bytes)
      HelperService.endReplies()
      return true
    }
    guard let sodium = Sodium() else { return false }
    var service = Service(caller, sodium)
    var kind: HelperReply.Kind
    repeat {
      guard let request = ReceivedRequest.read(sodium), service.takes(request.head) else {
        SystemLog.notice(refusal("incomplete or malformed request", caller))
        return false
      }
      let reply = service.answer(request)
      kind = reply.kind
      HelperService.reply(reply.bytes)
      HelperService.limitTime(seconds: 30)
    } while kind == .open && HelperService.hasMore()
    HelperService.endReplies()
    return true
  }

  private static var tooMany: Fault {
    Fault(.tooManyRequests, number: UInt64(CallerSlot.Purpose.running.limit))
  }

  private static func refusal(_ event: Text, _ caller: ProcessIdentity) -> Bytes {
    var line = LogLine("passcode-helper: \(event)")
    line.add("by_uid", UInt64(caller.real))
    return line.text
  }
}
