internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A workstation's request, its secrets in guarded memory.
struct Request: ~Copyable {
  let account: Bytes
  let head: HelperRequest
  let service: Bytes
  var secrets: Secrets

  /// nil: there is any doubt about it.
  static func read(_ sodium: Sodium) -> Request? {
    guard let account = FleetRequest.readAccount(HelperService.receive),
      let (head, service) = FleetRequest.readHead(HelperService.receive), var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound,
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound
    else { return nil }
    return Request(account: account, head: head, service: service, secrets: secrets)
  }
}
