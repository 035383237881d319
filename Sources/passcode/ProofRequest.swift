internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode take-proof`: pam_passcode starts this in root's programs after a login by the password; in others it starts the
/// helper. A request to `resume` comes on standard input, a socket; PasswordProof.swift has the rules.
///
/// - It MUST answer root only, and end a pause only for the account's own password.              test_pause.py
enum ProofRequest {
  /// Seconds until it gives up; its caller waits longer.
  private static var limit: UInt32 { 30 }

  /// nil: the tool was started with another command.
  static func answered() throws(Failure) -> ExitStatus? {
    guard Arguments.words(after: "take-proof") != nil else { return nil }
    let process = ProcessIdentity.current()
    guard process.effective == 0 else { throw .onlyRoot }
    guard HelperService.isConnected() else { throw .fault(Helper.invalidReply) }
    do throws(Errno) { try HelperService.layDownInheritance(limit: limit) } catch { return .unusable }
    let sodium = try startSodium()
    guard var request = ReceivedRequest.read(sodium), request.head.operation == .resume else {
      throw .fault(Helper.invalidReply)
    }
    HelperService.reply(reply(&request, process, sodium).bytes)
    HelperService.endReplies()
    return .done
  }

  private static func reply(
    _ request: inout ReceivedRequest, _ process: ProcessIdentity, _ sodium: Sodium
  ) -> HelperReply {
    do throws(Fault) {
      guard case .found(let account) = Account.numbered(request.head.uid) else {
        throw Fault(.noAccount, number: UInt64(request.head.uid))
      }
      let configuration = try Configuration.load(ModuleLine(configuration: nil), process)
      guard configuration.options.policy.takesPassword(for: .resume) else { return HelperReply(.closed) }
      guard try PasswordService.accepts(&request.secrets.password, of: account) else {
        log("passcode: wrong password", account.name, process)
        return HelperReply(.wrongPassword)
      }
      let vault = Vault(configuration, sodium) { SystemLog.notice($0.logLine) }
      let wasPaused = try vault.takeProof(of: account) ?? false
      if wasPaused { log(Act.resumed.event, account.name, process) }
      return HelperReply(.done, [wasPaused ? 1 : 0])
    } catch {
      log("passcode unavailable", [], process, cause: error.text.bytes)
      return HelperReply(fault: error)
    }
  }

  private static func log(_ event: Text, _ user: Bytes, _ process: ProcessIdentity, cause: Bytes? = nil) {
    var line = LogLine(event)
    if !user.isEmpty { line.add("user", user) }
    line.add("by_uid", UInt64(process.real))
    line.add("loginuid", ProcessIdentity.loginUID())
    if let cause { line.add("cause", sentence: cause) }
    SystemLog.notice(line.text)
  }
}
