internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What stunnel starts for each connection (`exec`), as its own account: it passes on the name in the client's certificate,
/// which stunnel has verified, and then every byte. It reads no file.
enum Relay {
  /// The path of the unit's socket.
  private static var path: Bytes { Bytes(text: "/run/passcode-verifier/socket") }

  static func run() -> Int32 {
    Confinement.narrow(to: Bytes(text: "passcode-verifier//relay"))
    // stunnel sets it for a certificate that it verified; without one there is nobody to name.
    guard let name = environment("SSL_CLIENT_DN"), let head = FleetRequest.relayHead(name) else { return 1 }
    do throws(Errno) {
      try VerifierService.relay(to: path, head: head, seconds: 180)
      return 0
    } catch {
      return 1
    }
  }
}
