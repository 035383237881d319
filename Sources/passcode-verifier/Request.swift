internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What the relay says first: who asks. See FleetMessage.swift.
enum RelayHead {
  /// nil: there is any doubt about it.
  static func receive() -> Bytes? {
    guard let head = HelperService.receive(3), head[0] == FleetRequest.relayVersion,
      let name = HelperService.receive(
        min(Int(littleEndianNumber(head, 1, 2)), FleetRequest.longestName + 1)),
      FleetRequest.isName(name)
    else { return nil }
    return name
  }
}

/// A workstation's request, its secrets in guarded memory.
struct Request: ~Copyable {
  let account: Bytes
  let head: HelperRequest
  let service: Bytes
  var secrets: Secrets

  /// nil: there is any doubt about it.
  ///
  /// - Parameter looked: the account of a look before. Only an attempt on that may follow.
  static func read(_ sodium: Sodium, after looked: Bytes? = nil) -> Request? {
    guard let start = HelperService.receive(2), start[0] == FleetRequest.version, start[1] > 0,
      let account = HelperService.receive(Int(start[1])), Record.canKeep(name: account)
    else { return nil }
    if let looked {
      guard account == looked else { return nil }
      HelperService.reply([FleetReply.atWork])
    }
    guard let bytes = HelperService.receive(HelperRequest.headLength), let head = HelperRequest(head: bytes),
      FleetRequest.allows(head), looked == nil || head.operation.isAttempt,
      let service = HelperService.receive(head.serviceLength),
      Record.serviceName(service) == service, var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound(in: head),
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound
    else { return nil }
    return Request(account: account, head: head, service: service, secrets: secrets)
  }
}
