internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What each operation does, once its asker is known and the process is `_passcode`: one call of the Vault,
/// or two.
struct RequestHandler {
  private let vault: Vault
  private let permit: Permit
  private let service: Bytes
  private var account: Account { permit.account }

  init(_ vault: Vault, _ permit: Permit, service: Bytes) {
    self.vault = vault
    self.permit = permit
    self.service = service
  }

  func reply(to operation: HelperOperation, _ secrets: inout Secrets) throws(Fault) -> HelperReply {
    switch operation {
    case .look: return try look(&secrets)
    case .verify: return reply(try attempt(&secrets).verdict)
    case .status: return HelperStatus(try vault.status(account)).reply
    case .change: return try change(&secrets)
    case .remove: return try remove(&secrets)
    case .enroll:
      let reply = try enroll(&secrets, by: .password)
      // Who has proved the password needn't prove it again; where the mark can't be set, they must.
      if reply.kind == .done { try? LoginMark(account, .service).set() }
      return reply
    case .unlock:
      guard let changed = try vault.unlock(account, by: .password) else { return HelperReply(.notEnrolled) }
      return HelperReply(.done, [changed ? 1 : 0])
    }
  }

  private func look(_ secrets: inout Secrets) throws(Fault) -> HelperReply {
    var login = try DirectLogin(vault, permit, service: service)
    guard let refusal = login.look(&secrets) else { return HelperReply(.open) }
    return HelperReply(verdict: refusal)
  }

  /// One attempt with the passcode in `code`; and which credential it proved.
  private func attempt(_ secrets: inout Secrets) throws(Fault) -> (verdict: Verdict, mark: Bytes?) {
    var login = try DirectLogin(vault, permit, service: service)
    let verdict = login.attempt(&secrets)
    return (verdict, login.provenMark)
  }

  private func change(_ secrets: inout Secrets) throws(Fault) -> HelperReply {
    let (verdict, mark) = try attempt(&secrets)
    guard verdict.isGranted, let mark else { return HelperReply(verdict: verdict) }
    secrets.copy(.code, to: .old)
    return try enroll(&secrets, by: .passcode(mark))
  }

  /// By the passcode, where there is one; else the password was proven before.
  private func remove(_ secrets: inout Secrets) throws(Fault) -> HelperReply {
    var proof = Authority.password
    if secrets.count(.code) > 0 {
      let (verdict, mark) = try attempt(&secrets)
      guard verdict.isGranted, let mark else { return HelperReply(verdict: verdict) }
      proof = .passcode(mark)
    }
    return try vault.remove(account, by: proof) ? HelperReply(.done, [1]) : HelperReply(.notEnrolled)
  }

  /// A module that names no service was loaded before it could be told what failed earlier.
  private func reply(_ verdict: Verdict) -> HelperReply {
    verdict.isGranted && service.isEmpty ? HelperReply(.granted) : HelperReply(verdict: verdict)
  }

  private func enroll(_ secrets: inout Secrets, by authority: Authority) throws(Fault) -> HelperReply {
    secrets.copy(.other, to: .code)
    secrets.wipe(.other)
    do throws(EnrolmentError) {
      try vault.enroll(account, &secrets, by: authority)
      return HelperReply(.done, [1])
    } catch {
      switch error {
      case .fault(let fault): throw fault
      case .refused(let refusal): return HelperReply(refusal: refusal)
      }
    }
  }
}
