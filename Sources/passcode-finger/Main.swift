internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

// passcode-finger: holds the fingerprint reader for one prompt of the PAM module, and tells what happens there. Root's
// own, started by systemd; no bits. For the tool it lists fingers: to anyone their own. FingerMessage.swift has the bytes.
//
// MUST (passcode-finger):
//  1  It takes nothing from its caller but these bytes: no argument, environment, descriptor, limit or signal state, and
//     no cgroup: systemd starts it, in a unit of its own.                  test_finger_caller.py, test_finger_socket.py
//  2  It answers only root (SO_PEERCRED), and is root in every id before it connects to the bus. The person can't stop,
//     slow or kill it. The tool starts it itself for `list`: without root's privileges it answers only that, for the
//     caller's own uid, and is the caller's in every id.
//                                            test_finger_caller.py, test_finger_socket.py, test_finger_status.py
//  3  It believes a result only from the connection that owned `net.reactivated.Fprint` and is root's, about the device
//     that it claimed, after VerifyStart was answered.           ReaderDialogTests, test_finger_attacks.py
//  4  It charges a touch under the count's lock before the reader waits for it: everybody on the bus sees the result, and
//     whatever ends this program, the touch is counted. The charge is taken back only once the touch has matched, or
//     once fprintd has said that the reader no longer waits, or has ended, and decided no touch before. In the
//     end only what didn't match is charged. What can't be charged isn't waited for, and is no match.
//                                                                TouchCountTests, test_finger_touches.py
//  5  It waits for at most 3 touches that don't match, and 30 s by CLOCK_BOOTTIME: a match that it reads later is none. It
//     stamps a match with the last time that the bus had nothing for it, which is never too late. Where its caller runs
//     for the machine (a login screen), it frees the reader after those 30 s, and takes it again 2 s later, for as long
//     as the prompt stands; so too once the reader was lost, is in use, or a match, told there at Enter alone, is 10 s old.
//     All that is one transcript: touches that don't match add up.    test_finger.py, test_finger_touches.py
//  6  It frees the reader when its caller ends, however that happens: 0.1 s later it is free.
//                                                                test_finger.py, test_finger_caller.py
//  7  It uses the system bus at its usual place, whatever the environment says.     test_finger_attacks.py
//  8  Where its caller runs for a person, it uses the reader only while that person's session is of the class user, on a
//     seat, active, local and not locked: the caller's own session, or else the person's display session. Where it runs
//     for the machine, the same holds for a session that the caller belongs to, whosever it is; if it belongs to none,
//     the terminal must be the virtual console in the foreground, or a display of the session that is seen on seat0.
//     That session must be a login screen's or the person's own, and active, local and not locked; for a login screen
//     that names no display, it must be a login screen's. Other displays prove nothing: anybody may connect to a VNC
//     server. Asked before the reader is claimed, and again before a match is told.
//                                                                SessionDialogTests, test_finger_session.py
//  9  At Enter it waits for a match only where fprintd says that a finger is on the reader, and for 1 s at most; else
//     it answers at once.                                            ReaderDialogTests, test_finger.py

@main
struct Main {
  static func main() {
    exitProcess(run() ? 0 : 1)
  }

  /// - Returns: whether the request made sense. The exit status decides nothing.
  private static func run() -> Bool {
    guard HelperService.isConnected() else {
      Stream.error.write(Bytes(text: "passcode-finger: started by the PAM module, not by hand\n"))
      return false
    }
    let uid = ProcessIdentity.current().effective
    let isRoots = uid == 0
    do throws(Errno) {
      try HelperService.layDownInheritance(limit: Session.longest)
      try HelperService.become(Account(uid: uid, gid: isRoots ? 0 : effectiveGroup(), name: []))
      if isRoots { try HelperService.leaveGroups() }
    } catch {
      return false
    }
    guard let caller = Caller.find(), let bytes = HelperService.receive(FingerRequest.length),
      let request = FingerRequest(bytes), isRoots || request.isOwnList(uid),
      case .found(let account) = Account.numbered(request.uid)
    else { return false }
    var session = Session(request, account, caller)
    session.run()
    HelperService.endReplies()  // systemd has the connection, too, until it has seen our end
    return true
  }
}
