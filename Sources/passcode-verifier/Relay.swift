internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem

/// What stunnel starts for each connection (`exec`), as its own account: it passes on the name in the client's certificate,
/// which stunnel has verified, and then every byte. It reads no file but the list of workstations: for one that isn't on
/// it, nothing else is started.
enum Relay {
  /// The path of the unit's socket.
  private static var path: Bytes { Bytes(text: "/run/passcode-verifier/socket") }

  static func run() -> Int32 {
    Confinement.narrow(to: Bytes(text: "passcode-verifier//relay"))
    // stunnel sets it for a certificate that it verified; without one there is nobody to name.
    guard let name = environment("SSL_CLIENT_DN"), let head = FleetRequest.relayHead(name) else { return 1 }
    if isUnlisted(name) { return turnAway(name) }
    do throws(Errno) {
      try VerifierService.relay(to: path, head: head, seconds: 180)
      return 0
    } catch {
      return 1
    }
  }

  /// Whether the list of workstations lacks the name. Where it can't be read, the verifier decides, which checks a name
  /// that is on it again, and whose file it is.
  private static func isUnlisted(_ name: Bytes) -> Bool {
    guard let list = try? Descriptor.open(FleetServer.workstationsPath, .read) else { return false }
    return (try? list.hasLine(name)) == false
  }

  private static func turnAway(_ name: Bytes) -> Int32 {
    var line = LogLine("passcode-verifier: not on the list of workstations")
    line.add("workstation", name)
    SystemLog.notice(line.text)
    let reply = HelperReply(fault: Fault(.notListed, path: FleetServer.workstationsPath))
    VerifierService.replyAndWait(FleetReply.encoded(reply), seconds: 2)
    return 0
  }
}
