internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeVault

// The installed programs: module, helper, and who else is in the helper's group.

private var modulePath: Bytes { Text("\(Installed.modules)/pam_passcode.so").bytes }

func checkModule(_ run: CheckRun) {
  let path = modulePath
  guard let file = try? Descriptor.open(path, .readLinked), let status = try? file.status() else {
    return run.tell(.missingProgram(path))
  }
  guard status.kind == .file, status.owner == 0, status.mode & 0o022 == 0 else {
    return run.tell(.untrustedModule(path))
  }
  checkVersion(path, file, status, run)
  // In a process of its own, because loading a library can change the process.
  guard !run.hasFound, inNewProcess(shielded: .whileItRuns, { canLoad(path) ? 0 : 1 }) != 0 else { return }
  run.tell(.unloadableModule(path))
}

private func checkVersion(_ path: Bytes, _ file: borrowing Descriptor, _ status: FileStatus, _ run: CheckRun)
{
  let content = (try? file.read(min(max(0, status.size), 1 << 20), at: 0)) ?? []
  if !ProgramVersion().isIn(content) { run.tell(.otherVersion(path)) }
}

/// Whether a path leads to the installed module, perhaps under another name; nil: there is no such file.
func isInstalledModule(_ path: Bytes) -> Bool? {
  guard let named = try? Descriptor.open(path, .readLinked).status() else { return nil }
  guard let installed = try? Descriptor.open(modulePath, .readLinked).status() else { return true }
  return named.inode == installed.inode && named.size == installed.size
}

func checkGroup(_ run: CheckRun) {
  for name in members(ofGroup: Installed.account) { run.tell(.member(name)) }
}

/// The program at the fingerprint reader, where a service has `finger=yes`: without it that option changes nothing.
func checkFinger(_ run: CheckRun) {
  guard !readStacks().report(run.configuration.options).offering.isEmpty else { return }
  let path = Installed.finger
  switch FingerProgram.installation {
  case .missing: return run.tell(.noFingerProgram)
  case .unsound: return run.tell(.untrustedFingerProgram(path))
  case .notListening:
    run.tell(isSystemdRunning ? .fingerNotListening(FingerProgram.socket) : .fingerNeedsSystemd)
  case .ready: break
  }
  if let file = try? Descriptor.open(path, .read), let status = try? file.status() {
    checkVersion(path, file, status, run)
  }
}

/// A fleet's packages bring programs that check their part: only they know stunnel, certificates and etcd. Each writes its
/// findings itself, in this form.
func checkFleet(_ run: CheckRun) {
  let program = Installed.path(of: .fleet)
  if !run.configuration.options.policy.verifier.isEmpty {
    let path = program + Bytes(text: "-check")
    if let status = try? FileStatus.of(path) { add(path, status, run) } else { run.tell(.noFleetProgram) }
  }
  let path = Installed.inFleetFolder("passcode-verifier-check")
  if let status = try? FileStatus.of(path) { add(path, status, run) }
}

private func add(_ path: Bytes, _ status: FileStatus, _ run: CheckRun) {
  guard status.kind == .file, status.owner == 0, status.mode & 0o022 == 0 else {
    return run.tell(.untrustedModule(path))
  }
  let format: Text = run.session.wantsJSON ? "json" : "lines"
  run.add(PasscodePrograms.run(path, (run.session.isQuiet ? format + "-quiet" : format).bytes))
}

/// /sys/kernel/security/apparmor/profiles: each loaded profile, and in brackets its mode.
func checkAppArmor(_ run: CheckRun) {
  let source = Bytes(text: "/etc/apparmor.d/usr.libexec.passcode-helper")
  let disabled = Bytes(text: "/etc/apparmor.d/disable/usr.libexec.passcode-helper")
  // The kernel has none, this is a container, or the administrator disabled it.
  guard let loaded = try? readKernelFile(Bytes(text: "/sys/kernel/security/apparmor/profiles")),
    (try? FileStatus.of(source)) != nil, (try? FileStatus.of(disabled)) == nil
  else { return }
  for line in loaded[...].parts(between: UInt8(ascii: "\n")) {
    guard line.words().first?.spells("passcode-helper") == true else { continue }
    if line.words().last?.spells("(complain)") == true { run.tell(.complaining) }
    return
  }
  run.tell(.notConfined(source))
}

func checkHelper(_ run: CheckRun) {
  let path = Installed.path(of: .helper)
  let account: Account
  do throws(Fault) { account = try Helper.account() } catch { return run.tell(.fault(error)) }
  guard let status = try? FileStatus.of(path) else { return run.tell(.missingProgram(path)) }
  // A program that somebody else has written mustn't be given the right mode.
  guard status.kind == .file, status.owner == 0 || status.owner == account.uid, status.mode & 0o022 == 0
  else { return run.tell(.untrustedHelper(path)) }
  guard status.owner == account.uid, status.group == account.gid, status.mode & 0o6000 == 0o6000 else {
    return run.tell(.helperMode(path))
  }
  if let system = try? FileSystem.of(path), system.isNosuid { return run.tell(.nosuid(path)) }
  if let file = try? Descriptor.open(path, .read) { checkVersion(path, file, status, run) }
  guard run.errors == 0 else {
    if !run.hasFound { run.skip(.afterErrors) }
    return
  }
  askHelper(run)
}

/// Asks for the caller's own status, which is no attempt. Real root never starts the helper: if root runs this, a process
/// that has become `nobody` for good starts it, and its exit status says why there was no answer.
private func askHelper(_ run: CheckRun) {
  guard run.access == .root else {
    if let fault = answer(to: run.session.process.real) { run.tell(.fault(fault)) }
    return
  }
  guard case .found(let nobody) = Account.named(Bytes(text: "nobody")) else { return run.skip(.noNobody) }
  let unasked: UInt8 = 255
  let status = inNewProcess(shielded: .whileItRuns) {
    guard (try? nobody.takeOver()) != nil else { return unasked }
    return answer(to: nobody.uid).map { $0.reason.rawValue + 1 } ?? 0
  }
  guard status != unasked else { return run.skip(.notNobody) }
  guard status != 0 else { return }
  let reason = status.flatMap { Fault.Reason(rawValue: $0 - 1) } ?? .noReply
  run.tell(.helper(reason))
}

extension CheckFinding {
  /// Why the helper gave no answer.
  fileprivate static func helper(_ reason: Fault.Reason) -> CheckFinding {
    switch reason {
    case .failed, .noReply, .invalidReply: .helperSilent(Installed.path(of: .helper))
    case .helperPrivilege: .fault(Installed.Program.helper.fault(reason))
    default: .helperRefuses
    }
  }
}

/// Why the helper gives this user no answer; nil: it does.
private func answer(to uid: UInt32) -> Fault? {
  do throws(Fault) {
    let reply = try Helper.status(of: uid)
    return reply.kind == .unavailable ? reply.fault ?? Helper.invalidReply : nil
  } catch {
    return error
  }
}
