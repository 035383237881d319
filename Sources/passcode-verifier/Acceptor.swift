internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// What systemd starts: it starts a process for each connection, and reads nothing itself.
enum Acceptor {
  /// How many may work at a time.
  private static let most: UInt32 = 512

  static func run() -> Int32 {
    let error = VerifierService.accept(most: most) { error in
      log("passcode-verifier: connection closed", error)
    }
    guard error != .notSocket else {
      complain(Words.notByHand)
      return 2
    }
    log("passcode-verifier: accept", error)
    return 1
  }

  private static func log(_ event: Text, _ error: Errno) {
    var line = LogLine(event)
    line.add("cause", sentence: error.text)
    SystemLog.notice(line.text)
  }
}
