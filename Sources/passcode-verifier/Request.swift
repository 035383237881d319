internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A workstation's request, its secrets in guarded memory.
struct Request: ~Copyable {
  let account: Bytes
  let head: HelperRequest
  let service: Bytes
  var secrets: Secrets

  /// Reads a request from standard input; nil unless it is well-formed and complete.
  ///
  /// - Parameter looked: the account of a look before. Only an attempt on that may follow.
  static func read(_ sodium: Sodium, after looked: Bytes? = nil) -> Request? {
    guard let account = FleetRequest.readAccount(HelperService.receive) else { return nil }
    if let looked {
      guard account == looked else { return nil }
      HelperService.reply([FleetReply.atWork])
    }
    guard let (head, service) = FleetRequest.readHead(HelperService.receive),
      looked == nil || head.operation.isAttempt, var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound(in: head),
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound
    else { return nil }
    return Request(account: account, head: head, service: service, secrets: secrets)
  }
}
