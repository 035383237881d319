internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode try`: the real thing (this vault, the built module, the system's libpam) in a temporary store
/// and a private PAM service directory. Nothing on the system changes.
func runTry(_ session: Session) throws(Failure) -> ExitStatus {
  let isDemo = session.has(.demo) || !standardInputIsTerminal()
  // Whatever happens in the process that plays, this one cleans up after it.
  let directory = try TryBed.makeDirectory(failDelay: isDemo ? "0" : "2s")
  let path = directory.path
  let status = inNewProcess(shielded: .forGood) { play(session, path, isDemo: isDemo) }
  // Held until here: it removes the folder when it goes.
  withExtendedLifetime(directory) {}
  guard let status else { throw .trialEnded }
  return ExitStatus(rawValue: Int32(status)) ?? .unusable
}

private func play(_ session: Session, _ directory: Bytes, isDemo: Bool) -> UInt8 {
  do throws(Failure) {
    let bed = try TryBed(session, directory)
    let status = isDemo ? try TryDemo(bed: bed).play() : try TryMenu(bed: bed).play()
    return UInt8(truncatingIfNeeded: status.rawValue)
  } catch {
    complain(error.text)
    return UInt8(truncatingIfNeeded: error.status.rawValue)
  }
}

/// A temporary store with a configuration, and logins that use it.
struct TryBed {
  static let service = Bytes(text: "passcode-try")

  let directory: Bytes
  /// The tool's own commands, for this store.
  let direct: Direct
  var vault: Vault { direct.vault }
  var account: Account { direct.account }

  /// A folder with configuration, PAM service and a link to the module.
  static func makeDirectory(failDelay: Text) throws(Failure) -> TemporaryDirectory {
    guard let directory = TemporaryDirectory(prefix: "passcode-try") else {
      throw .noTemporaryDirectory
    }
    let path = directory.path
    let configuration: Text = "store=\(path)/store\nkey_file=\(path)/key\nfail_delay=\(failDelay)\n"
    // Root may try it where there is no terminal, and would count as remote.
    let stack: Text = "auth required \(path)/pam_passcode.so conf=\(path)/passcode.conf remote=allow\n"
    let module = try module()
    do throws(Errno) {
      try directory.write(Bytes(text: "passcode.conf"), configuration.bytes)
      try directory.write(service, stack.bytes)
      try directory.link(Bytes(text: "pam_passcode.so"), to: module)
    } catch {
      throw .fault(Fault(.failed, path: path, error: error.code))
    }
    return directory
  }

  init(_ session: Session, _ directory: Bytes) throws(Failure) {
    session.configurationPath = Text("\(directory)/passcode.conf").bytes
    session.isTrial = true
    self.directory = directory
    direct = try Direct(session, "enroll")
    let vault = vault
    try reporting { () throws(Fault) in _ = try vault.createKey() }
  }

  /// The module beside this program, as it was built; else the installed one.
  private static func module() throws(Failure) -> Bytes {
    var paths = [Text("\(Installed.modules)/pam_passcode.so").bytes]
    if let program = programPath(), let slash = program.lastIndex(of: UInt8(ascii: "/")) {
      let folder = Bytes(program[..<slash])
      let built = ["pam_passcode.so", "libpam_passcode.so"] as [Text]
      paths = built.map { Text("\(folder)/\($0)").bytes } + paths
    }
    guard let path = paths.first(where: { (try? FileStatus.of($0)) != nil }) else { throw .noModule }
    return path
  }

  /// One login, as sudo or a lock screen does it, in a process of its own.
  ///
  /// - Parameter check: whether the outcome is the right one, asked in that process; nil: any is.
  /// - Returns: what `check` said.
  @discardableResult
  func logIn(
    _ asker: Asker, _ check: ((PAMClient.Outcome, LoginRecord) -> Bool)? = nil
  ) throws(Failure) -> Bool {
    let status = inNewProcess(shielded: .whileItRuns) {
      guard let sodium = Sodium(), var secrets = Secrets(sodium) else { return 1 }
      let record = LoginRecord()
      let outcome = PAMClient.authenticate(
        service: TryBed.service, user: account.name, directory: directory, &secrets.line
      ) {
        message, text, line in
        switch message {
        case .hidden:
          record.questions += 1
          return asker.ask(Text(text), &line) == .line
        case .notice:
          record.notices.append(text)
          Stream.output.write("    \(text)\n")
          return true
        }
      }
      if check == nil, record.questions == 0 { printLine(.didNotAsk) }
      printLine(.result(outcome.text))
      return check?(outcome, record) ?? true ? 0 : 1
    }
    guard let status else { throw .loginEnded }
    return status == 0
  }
}

/// What a login asked and said.
final class LoginRecord {
  var questions = 0
  var notices: [Bytes] = []
}
