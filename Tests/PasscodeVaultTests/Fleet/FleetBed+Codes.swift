import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeVault

/// One-time codes.
extension FleetBed {
  static let code = "KTMXRWPB"

  private func secrets(_ code: String, new: String) throws -> Secrets {
    var secrets = try secrets(new)
    secrets.type(code: code)
    return secrets
  }

  func invite(
    _ account: Bytes = FleetBed.alice, code: String = FleetBed.code, seconds: UInt64 = 3_600
  ) throws {
    var secrets = try secrets(code, new: "8264")
    try secrets.invite(account, fleet(), seconds: seconds)
  }

  func enroll(
    byCode code: String, _ account: Bytes = FleetBed.alice, new: String = "8264",
    at workstation: String = "ws1"
  ) throws -> CodeOutcome {
    var secrets = try secrets(code, new: new)
    let login = FleetLogin(
      try fleet(), account: account, workstation: Bytes(text: workstation), service: [])
    return try secrets.enroll(login)
  }
}

extension Secrets {
  fileprivate mutating func type(code: String) {
    let typed = line.take(Bytes(text: code))
    let taken = passcode.copy(line, as: OneTimeCode.letter)
    #expect(typed == true && taken == true)
  }

  fileprivate mutating func invite(_ account: Bytes, _ fleet: FleetVault<FakeEtcd>, seconds: UInt64) throws {
    try fleet.invite(account, passcode, seconds: seconds, &unsealed)
  }

  fileprivate mutating func enroll(_ login: borrowing FleetLogin<FakeEtcd>) throws -> CodeOutcome {
    try login.enroll(byCode: passcode, change, &unsealed)
  }
}
