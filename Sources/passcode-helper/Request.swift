internal import PasscodePolicy
internal import PasscodeSystem

/// A whole request, its secrets in guarded memory.
struct Request: ~Copyable {
  let head: HelperRequest
  /// The PAM service that asks; empty: it didn't say.
  let service: Bytes
  /// Field `code`: the passcode to verify; `other`: a new one.
  var secrets: Secrets
  /// Field `line`: the account's password, apart, because libpam's conversation takes it.
  private var password: Secrets?

  /// Reads it to its end; after a look there may be another one. nil: there is any doubt about it.
  init?(_ sodium: Sodium) {
    guard let bytes = HelperService.receive(HelperRequest.headLength), let head = HelperRequest(head: bytes),
      let service = HelperService.receive(head.serviceLength), Record.serviceName(service) == service,
      var secrets = Secrets(sodium),
      secrets.receive(.code, count: head.lengths.passcode),
      secrets.receive(.other, count: head.lengths.new),
      Request.isPasscode(secrets, .code), Request.isPasscode(secrets, .other)
    else { return nil }
    if head.lengths.password > 0 {
      guard var password = Secrets(sodium), password.receive(.line, count: head.lengths.password) else {
        return nil
      }
      self.password = consume password
    }
    guard head.operation == .look || !HelperService.hasMore() else { return nil }
    self.head = head
    self.service = service
    self.secrets = secrets
  }

  private static func isPasscode(_ secrets: borrowing Secrets, _ field: Secrets.Field) -> Bool {
    secrets.count(field) == 0 || secrets.read(field) { Answer($0) } == .passcode
  }

  /// Gives the password away; the second time there is none.
  mutating func takePassword() -> Secrets? {
    password.take()
  }
}
