internal import PasscodeBus
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

// passcode-finger: holds the fingerprint reader for one prompt of the PAM module, and tells what happens there. Root's
// own, started by systemd; no bits. For the tool it lists fingers: to anyone their own. Its MUST list, and what shows it,
// is at the head of FingerMessage.swift.

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
    } catch {
      return false
    }
    guard !isRoots || leaveGroups(), let caller = Caller.find(),
      let bytes = HelperService.receive(FingerRequest.length), let request = FingerRequest(bytes),
      isRoots || request.isOwnList(uid), case .found(let account) = Account.numbered(request.uid)
    else { return false }
    var session = Session(request, account, caller)
    session.run()
    HelperService.endReplies()  // systemd has the connection, too, until it has seen our end
    return true
  }
}
