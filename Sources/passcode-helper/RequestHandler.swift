internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// What each operation does, once its asker is known and the process is `_passcode`: a call of the Vault, or two.
struct RequestHandler {
  let vault: Vault
  let permit: Permit
  let service: Bytes
  private var account: Account { permit.account }

  func reply(to operation: HelperOperation, _ secrets: inout Secrets) throws(Fault) -> HelperReply {
    switch operation {
    case .look: return try look(&secrets.unsealed)
    case .verify: return reply(try attempt(secrets.passcode, &secrets.unsealed).verdict)
    case .prove: return reply(try attempt(secrets.passcode, &secrets.unsealed, .change).verdict)
    case .status: return try vault.helperStatus(of: account).reply
    case .change: return try change(secrets.passcode, &secrets.change, &secrets.unsealed)
    case .remove: return try remove(secrets.passcode, &secrets.unsealed)
    case .enroll:
      let reply = try enroll(secrets.change, &secrets.unsealed, by: .password)
      // Who has proved the password needn't prove it again.
      if reply.kind == .done { try? vault.noteProof(of: account) }
      return reply
    // Only a fleet has codes.
    case .enrollByCode: return HelperReply(.closed)
    case .unlock: return reply(try vault.unlock(account, by: .password))
    // Without the password nobody could end it.
    case .pause where vault.policy.secondFactor: return HelperReply(.closed)
    case .pause: return reply(try vault.pause(account, true))
    case .resume: return reply(try vault.takeProof(of: account))
    }
  }

  private func look(_ unsealed: inout Unsealed) throws(Fault) -> HelperReply {
    var login = try DirectLogin.open(vault, permit, service: service)
    guard let refusal = login.look(&unsealed) else {
      return HelperReply(.openWaiting, [UInt64(login.looked.attemptsLeft)])
    }
    return HelperReply(verdict: refusal)
  }

  /// Makes one attempt; returns its verdict, and a mark of the credential that was proven.
  private func attempt(
    _ passcode: borrowing Passcode, _ unsealed: inout Unsealed, _ purpose: Purpose = .login
  ) throws(Fault) -> (verdict: Verdict, mark: Bytes?) {
    var login = try DirectLogin.open(vault, permit, service: service, purpose)
    let verdict = login.attempt(passcode, &unsealed)
    return (verdict, login.provenMark)
  }

  private func change(
    _ passcode: borrowing Passcode, _ change: inout PasscodeChange, _ unsealed: inout Unsealed
  ) throws(Fault) -> HelperReply {
    let (verdict, mark) = try attempt(passcode, &unsealed, .change)
    guard verdict.isGranted, let mark else { return HelperReply(verdict: verdict) }
    change.old.passcode.copy(passcode)
    return try enroll(change, &unsealed, by: .passcode(mark))
  }

  /// Removes the passcode; the passcode proves the right, unless the password was proven before.
  private func remove(
    _ passcode: borrowing Passcode, _ unsealed: inout Unsealed
  ) throws(Fault) -> HelperReply {
    var proof = Authority.password
    if passcode.count > 0 {
      let (verdict, mark) = try attempt(passcode, &unsealed)
      guard verdict.isGranted, let mark else { return HelperReply(verdict: verdict) }
      proof = .passcode(mark)
    }
    return try vault.remove(account, by: proof) ? HelperReply(.done, [1]) : HelperReply(.notEnrolled)
  }

  private func reply(_ changed: Bool?) -> HelperReply {
    changed.map { HelperReply(.done, [$0 ? 1 : 0]) } ?? HelperReply(.notEnrolled)
  }

  /// A module that names no service was loaded before it could be told what failed earlier.
  private func reply(_ verdict: Verdict) -> HelperReply {
    verdict.isGranted && service.isEmpty ? HelperReply(.granted) : HelperReply(verdict: verdict)
  }

  private func enroll(
    _ change: borrowing PasscodeChange, _ unsealed: inout Unsealed, by authority: Authority
  ) throws(Fault) -> HelperReply {
    do throws(EnrolmentError) {
      try vault.enroll(account, change, &unsealed, by: authority)
      return HelperReply(.done, [1])
    } catch {
      switch error {
      case .fault(let fault): throw fault
      case .refused(let refusal): return HelperReply(refusal: refusal)
      }
    }
  }
}
