internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// An account whose passcode a fleet's servers keep, for root on a workstation. It can be seen and tried here; everything
/// else is done on a server.
struct FleetAccount {
  private let session: Session
  private let configuration: Configuration
  private let account: Account

  /// nil: the passcode is this machine's, or the caller isn't root.
  init?(_ session: Session) throws(Failure) {
    configuration = try session.configuration()
    guard configuration.access == .root else { return nil }
    account = try session.account()
    guard configuration.options.policy.asksVerifier(account.uid) else { return nil }
    self.session = session
  }

  func showStatus() throws(Failure) -> ExitStatus {
    try report(try status(), session, store: configuration.options.policy.store)
  }

  /// - Throws: if no server answers.
  func status() throws(Failure) -> Status {
    let reply: HelperReply
    do throws(Fault) { reply = try Helper.status(of: account.uid, by: .fleet) } catch {
      throw .fleetSilent(account.name, error)
    }
    guard let report = HelperStatus(reply) else {
      if reply.kind == .notPermitted { throw .forbidden }
      throw .fleetSilent(account.name, reply.fault ?? Helper.invalidReply)
    }
    var status = Status(account, report)
    status.isFleets = true
    return status
  }

  func verify() throws(Failure) -> ExitStatus {
    var secrets = try newSecrets()
    let permit = try session.permit(account, configuration.access)
    var login = IndirectLogin(
      permit, HelperRequest.Conditions(), service: session.serviceName, by: .fleet)
    let verdict = try session.run(&login, .passcode, &secrets)
    if verdict.isGranted { session.say(.right) }
    return tell(verdict, account)
  }
}
