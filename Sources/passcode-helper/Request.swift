internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// A whole request, its secrets in guarded memory.
struct Request: ~Copyable {
  let head: HelperRequest
  /// The PAM service that asks; empty: it didn't say.
  let service: Bytes
  /// Those that the head names.
  var secrets: Secrets

  /// Reads it to its end; after a look there may be another one. nil: there is any doubt about it.
  static func read(_ sodium: Sodium) -> Request? {
    guard let bytes = HelperService.receive(HelperRequest.headLength), let head = HelperRequest(head: bytes),
      let service = HelperService.receive(head.serviceLength), Record.serviceName(service) == service,
      var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound,
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound,
      secrets.password.line.receive(count: head.lengths.password),
      head.operation == .look || !HelperService.hasMore()
    else { return nil }
    return Request(head: head, service: service, secrets: secrets)
  }
}
