internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool

/// `passcode server …`: on a fleet's server this process becomes passcode-verifier, with the words that follow: what
/// talks to etcd is therefore in a package of its own. For a command that openssl, ssh and systemd carry out, it becomes
/// that package's script.
///
/// - It MUST be root's file, writable by nobody else, and is started for root only.        test_verifier_commands.py
/// - Its arguments MUST be those that were given. Of the caller's environment it MUST get only SUDO_USER and the language.
///                                                                                         test_verifier_commands.py
enum VerifierProgram {
  /// Returns where the tool's first word is another one, or where help was asked for that this tool has, too.
  static func takeOver() throws(Failure) {
    // The second is its old name, until 1.0.
    guard let words = Arguments.words(after: "server") ?? Arguments.words(after: "verifier") else { return }
    let wantsHelp = words.contains { $0.spells("--help") || $0.spells("-h") }
    let isRoot = ProcessIdentity.current().effective == 0
    let script = ServerScript.allCases.first { words.first == $0.name.bytes }
    let program = script.map { Installed.inFleetFolder($0.file) } ?? Installed.verifier
    let status = try? FileStatus.of(program)
    if wantsHelp && (!isRoot || status == nil) { return }
    guard isRoot else { throw .onlyRoot }
    guard let status else { throw .noVerifier }
    guard status.kind == .file, status.owner == 0, status.mode & 0o022 == 0 else {
      throw .fault(Fault(.failed, path: program, error: Errno.denied.code))
    }
    let error = Arguments.become(program, after: script == nil ? 1 : 2)
    throw .fault(Fault(.failed, path: program, error: error.code))
  }
}

/// Refuses `server` where it isn't the first word.
func runServer(_: Session) throws(Failure) -> ExitStatus {
  throw .operands("server", .serverAction)
}
