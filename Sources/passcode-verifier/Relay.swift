internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem

/// What stunnel starts for each connection (`exec`), as its own account: it passes on the name in the client's certificate,
/// which stunnel has verified, and then every byte. It reads no file but the list of workstations: for one that isn't on
/// it, nothing else is started.
enum Relay {
  /// What the workstation wants, and the socket of the unit that does it.
  enum Purpose {
    /// An answer of the verifier's.
    case answer
    /// Another certificate. The issuer, a script, gets the name as a line.
    case renewal

    fileprivate var path: Bytes {
      switch self {
      case .answer: Bytes(text: "/run/passcode-verifier/socket")
      case .renewal: Bytes(text: "/run/passcode-verifier/renew")
      }
    }

    fileprivate func head(_ name: Bytes) -> Bytes? {
      guard let head = FleetRequest.relayHead(name) else { return nil }
      switch self {
      case .answer: return head
      case .renewal: return name + [UInt8(ascii: "\n")]
      }
    }
  }

  static func run(_ purpose: Purpose) -> Int32 {
    Confinement.narrow(to: Bytes(text: "passcode-verifier//relay"))
    // stunnel sets it for a certificate that it verified; without one there is nobody to name.
    guard let name = environment("SSL_CLIENT_DN"), let head = purpose.head(name) else { return 1 }
    if isUnlisted(name) { return turnAway(name, purpose) }
    do throws(Errno) {
      try VerifierService.relay(to: purpose.path, head: head, seconds: 180)
      return 0
    } catch {
      return 1
    }
  }

  /// Whether the list of workstations lacks the name. Where it can't be read, the verifier or the issuer decides, which
  /// checks a name that is on it again, and whose file it is.
  private static func isUnlisted(_ name: Bytes) -> Bool {
    guard let list = try? Descriptor.open(FleetServer.workstationsPath, .read) else { return false }
    return (try? list.hasLine(name)) == false
  }

  private static func turnAway(_ name: Bytes, _ purpose: Purpose) -> Int32 {
    var line = LogLine("passcode-verifier: not on the list of workstations")
    line.add("workstation", name)
    SystemLog.notice(line.text)
    if case .answer = purpose {
      let reply = HelperReply(fault: Fault(.notListed, path: FleetServer.workstationsPath))
      VerifierService.replyAndWait(FleetReply.encoded(reply), seconds: 2)
    }
    return 0
  }
}
