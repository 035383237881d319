public import PasscodePolicy
public import PasscodeSystem

/// A whole request on standard input, its secrets in guarded memory: what `IndirectLogin` and `Helper` send.
public struct ReceivedRequest: ~Copyable {
  public let head: HelperRequest
  /// The PAM service that asks; empty: it didn't say.
  public let service: Bytes
  /// The secrets that the request's head announces.
  public var secrets: Secrets

  /// Reads it to its end; after a look there may be another one. nil: there is any doubt about it.
  public static func read(_ sodium: Sodium) -> ReceivedRequest? {
    guard let bytes = HelperService.receive(HelperRequest.headLength), let head = HelperRequest(head: bytes),
      let service = HelperService.receive(head.serviceLength), Record.serviceName(service) == service,
      var secrets = Secrets(sodium),
      secrets.passcode.receive(count: head.lengths.passcode), secrets.passcode.isSound(in: head),
      secrets.change.new.passcode.receive(count: head.lengths.new), secrets.change.new.passcode.isSound,
      secrets.password.line.receive(count: head.lengths.password),
      head.operation == .look || !HelperService.hasMore()
    else { return nil }
    return ReceivedRequest(head: head, service: service, secrets: secrets)
  }
}
