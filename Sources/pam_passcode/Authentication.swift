internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeVault

/// One call of pam_sm_authenticate: at most one prompt, one attempt, one answer.
struct Authentication {
  private let pam: PAM
  private let arguments: [Bytes]
  private let process = ProcessIdentity.current()

  init(_ pam: PAM, _ arguments: [Bytes]) {
    self.pam = pam
    self.arguments = arguments
  }

  func result() -> Result {
    let configuration: Configuration
    do throws(Fault) {
      // There, a password proves who may set a passcode.
      if pam.item(.service)?.spells("passcode") ?? false {
        throw Fault(.configuration, "the module can't be in the service \"passcode\"")
      }
      configuration = try load()
    } catch {
      return answer(.unavailable(error), Options().door, user: nil)
    }
    return authenticate(configuration)
  }

  private func load() throws(Fault) -> Configuration {
    let line: ModuleLine
    do throws(OptionError) { line = try ModuleLine(arguments) } catch { throw error.fault }
    return try Configuration.load(path: line.configuration, arguments: line.options, process)
  }

  private func authenticate(_ configuration: Configuration) -> Result {
    let door = configuration.options.door
    switch pam.user() {
    case .refused(let result): return result
    case .named(let user):
      switch identify(user, door) {
      case .unknown: return .unknownUser
      case .refused(let verdict): return answer(verdict, door, user: user)
      case .permitted(let permit): return authenticate(permit, configuration, user)
      }
    }
  }

  private enum Identified {
    case permitted(Permit)
    /// No such account; or glibc couldn't read /etc/passwd, which it tells like this, too: nothing that `nullok`
    /// may ignore.
    case unknown
    case refused(Verdict)
  }

  /// Whose passcode, and whether it may be used by this caller from here.
  private func identify(_ user: Bytes, _ door: Options.Door) -> Identified {
    guard door.remote == .allow || !isRemote else { return .refused(.notPermitted(.remote)) }
    switch Account.named(user) {
    case .unknown: return .unknown
    case .failed(let error):
      return .refused(.unavailable(Fault(.account, "the account can't be looked up: \(error.text)")))
    case .found(let account):
      guard let permit = Permit.check(account, process, requester: pam.item(.requester)) else {
        return .refused(.notPermitted(.otherAccount))
      }
      return .permitted(permit)
    }
  }

  /// sshd says so by PAM_RHOST, and before it knows the host by its PAM_TTY.
  private var isRemote: Bool {
    if let host = pam.item(.remoteHost), !host.isEmpty { return true }
    return pam.item(.terminal)?.spells("ssh") ?? false
  }

  private func authenticate(_ permit: Permit, _ configuration: Configuration, _ user: Bytes) -> Result {
    let door = configuration.options.door
    if door.firstLogin == .deny {
      pam.note(waitingForLogin: permit.account.uid)
      let mark = LoginMark(permit.account, configuration.access)
      if configuration.access != .helper, !mark.isSet {
        return answer(.notPermitted(.firstLogin), door, user: user)
      }
    }
    guard let sodium = Sodium(), var secrets = Secrets(sodium) else {
      return answer(.unavailable(Fault(.memory, "no memory for a passcode")), door, user: user)
    }
    if configuration.access == .helper { return authenticateByHelper(permit, door, user, &secrets) }
    let vault = Vault(configuration, sodium) { pam.log(.error, $0) }
    do throws(Fault) {
      var login = try Login(vault, permit)
      if let refusal = login.look(&secrets) { return answer(refusal, door, user: user) }
      switch ask(user, door, &secrets) {
      case .passcode: return answer(login.attempt(&secrets), door, user: user)
      case .no(let result): return result
      }
    } catch {
      return answer(.unavailable(error), door, user: user)
    }
  }

  /// For hosts without root.
  private func authenticateByHelper(
    _ permit: Permit, _ door: Options.Door, _ user: Bytes, _ secrets: inout Secrets
  ) -> Result {
    let login = HelperLogin(permit, wantsLogin: door.firstLogin == .deny)
    if let refusal = login.look(secrets) { return answer(refusal, door, user: user) }
    switch ask(user, door, &secrets) {
    case .passcode: return answer(login.attempt(secrets), door, user: user)
    case .no(let result): return result
    }
  }

  private enum Asked {
    /// In the secrets' field `code`.
    case passcode
    case no(Result)
  }

  /// The one prompt.
  private func ask(_ user: Bytes, _ door: Options.Door, _ secrets: inout Secrets) -> Asked {
    defer { secrets.wipe(.line) }
    if takeFirstPass(door, &secrets) { return .passcode }
    if door.useFirstPass { return .no(.failed) }
    guard pam.ask(prompt(door), &secrets) else { return .no(.cancelled) }
    guard case .named(let name) = pam.user(), name == user else {
      pam.log(.notice, line("the user changed while the passcode was typed", user, door).text)
      return .no(.failed)
    }
    switch secrets.read(.line, { Answer($0) }) {
    case .passcode:
      secrets.copy(.line, to: .code)
      return .passcode
    case .empty: return .no(.failed)
    case .other:
      // One field for both: the next module finds the password there, and doesn't ask again.
      if door.either { pam.setToken(&secrets) }
      return .no(.failed)
    }
  }

  private func prompt(_ door: Options.Door) -> Bytes {
    let isUsual = door.prompt == Options().door.prompt
    return Text("\(door.either && isUsual ? Words.eitherPrompt : Text(door.prompt)) ").bytes
  }

  /// What an earlier module asked for, if it is a passcode: it then doesn't stay there.
  private func takeFirstPass(_ door: Options.Door, _ secrets: inout Secrets) -> Bool {
    guard door.tryFirstPass || door.useFirstPass, pam.takeToken(&secrets) else { return false }
    guard secrets.read(.line, { Answer($0) }) == .passcode else { return false }
    secrets.copy(.line, to: .code)
    pam.clearToken()
    return true
  }

  /// Renders a verdict: the log, the notice, the delay, the result.
  private func answer(_ verdict: Verdict, _ door: Options.Door, user: Bytes?) -> Result {
    if isWorthLogging(verdict) || door.debug { log(verdict, user, door) }
    if !door.quiet, let notice = Words.notice(verdict) { pam.tell(notice) }
    if case .wrong = verdict, door.failDelay > 0 { pam.delayFailure(seconds: door.failDelay) }
    return Result(verdict, nullok: door.nullok)
  }

  /// Most people have no passcode: that isn't news.
  private func isWorthLogging(_ verdict: Verdict) -> Bool {
    switch verdict {
    case .notEnrolled: false
    case .granted, .wrong, .locked, .exhausted, .disabled, .notPermitted, .unavailable: true
    }
  }

  private func log(_ verdict: Verdict, _ user: Bytes?, _ door: Options.Door) {
    var line = line(verdict.event, user ?? [], door)
    switch verdict {
    case .wrong(.open(let left), let failures):
      line.add("failures", UInt64(failures))
      line.add("attempts_left", UInt64(left))
    case .wrong(.locked(let milliseconds), let failures), .locked(let milliseconds, let failures):
      line.add("failures", UInt64(failures))
      line.add("seconds_left", (milliseconds + 999) / 1_000)
    case .wrong(.exhausted, let failures), .exhausted(let failures): line.add("failures", UInt64(failures))
    case .unavailable(let fault): line.add("cause", sentence: fault.text)
    case .granted, .disabled, .notEnrolled, .notPermitted: break
    }
    pam.log(verdict == .granted || isExpected(verdict) ? .notice : .error, line.text)
  }

  private func isExpected(_ verdict: Verdict) -> Bool {
    if case .unavailable = verdict { return false }
    return true
  }

  private func line(_ event: Text, _ user: Bytes, _ door: Options.Door) -> LogLine {
    var line = LogLine(event)
    line.add("user", user)
    line.add("ruid", UInt64(process.real))
    line.add("tty", pam.item(.terminal))
    line.add("rhost", pam.item(.remoteHost))
    line.add("ruser", pam.item(.requester))
    return line
  }
}
