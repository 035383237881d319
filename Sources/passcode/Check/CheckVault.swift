internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeVault

// Configuration, clocks, key, store and cost.

func checkConfiguration(_ run: CheckRun) {
  for fault in run.faults { run.tell(.fault(fault)) }
  guard run.faults.isEmpty else { return }
  do throws(Fault) { _ = try run.vault.surroundings(nil) } catch { run.tell(.fault(error)) }
  guard run.isOfSystem, let status = try? FileStatus.of(Configuration.usualPath) else { return }
  if status.mode & 0o004 == 0 { run.tell(.hiddenConfiguration(Configuration.usualPath)) }
  checkPreset(run)
  let policy = run.configuration.options.policy
  if run.access == .root, policy.passwordEvery > 0 || policy.needsFinger,
    let account = Account.firstWithoutPassword(where: { run.vault.hasPasscode($0) == true })
  {
    run.tell(.withoutPassword(Configuration.usualPath, account.name))
  }
}

/// Where the file has become different from the preset that it names.
private func checkPreset(_ run: CheckRun) {
  let path = Configuration.usualPath
  guard let text = try? run.configuration.trust(.configuration).text(path),
    let (name, line) = Preset.mark(in: text)
  else { return }
  guard let preset = Preset.named(name[...]) else { return run.tell(.unknownPreset(path, line, name)) }
  for difference in (try? preset.differences(from: text, path: path)) ?? [] {
    let place = difference.number > 0 ? difference.number : line
    run.tell(.presetDiffers(path, place, difference.name, name))
  }
}

/// The boot id and the clock since boot: the lockout needs both.
func checkClocks(_ run: CheckRun) {
  if SystemClock.bootMilliseconds() == nil { run.tell(.fault(Fault(.noBootClock))) }
  guard let id = try? SystemClock.bootID(), BootID(kernelText: id[...]) != nil else {
    return run.tell(.fault(Fault(.noBootID)))
  }
}

func checkKey(_ run: CheckRun) {
  run.vault.inspectKey { run.tell(.store($0)) }
  run.detail = CheckDetail.key(isSealed: run.vault.hasSealedKey)
  guard run.vault.hasSealedKey else { return }
  for path in unencryptedSwap() { run.tell(canHibernate() ? .hibernation(path) : .swapSpace(path)) }
  for library in ["libtss2-esys.so.0", "libtss2-mu.so.0", "libtss2-rc.so.0"] as [Text] {
    // Loading a library can change the process.
    let canNot = inNewProcess(shielded: .whileItRuns) { canLoad(library.bytes) ? 0 : 1 } == 1
    if canNot { run.tell(.missingLibrary(library.bytes)) }
  }
}

func checkStore(_ run: CheckRun) {
  run.vault.inspectStore { run.tell(.store($0)) }
}

/// Milliseconds of processor time; anything slower looks like a fault to a person at a prompt.
private let slowest: UInt64 = 2_000

func checkCost(_ run: CheckRun) {
  guard run.faults.isEmpty else { return run.skip(.badConfiguration) }
  let policy = run.configuration.options.policy
  let all = UInt64(run.vault.hashingSlots) &* policy.cost.memory
  if Machine.memory > 0, all > Machine.memory / 2 {
    // Measuring could itself use up the memory.
    return run.tell(.muchMemory(bytes: all, of: Machine.memory))
  }
  let start = processorMicroseconds()
  guard
    hashingTime(operations: policy.cost.operations, memory: policy.cost.memory, run.sodium) != nil
  else { return run.tell(.noMemoryToHash(bytes: policy.cost.memory)) }
  let milliseconds = (processorMicroseconds() - start) / 1_000
  if milliseconds > slowest { run.tell(.slow(milliseconds: milliseconds)) }
  run.detail = CheckDetail.cost(milliseconds: milliseconds, slots: run.vault.hashingSlots)
}

/// The runtime directory, as root sees it without becoming `_passcode`; nothing is created.
func checkRuntime(_ run: CheckRun) {
  let path = RunFolder.path
  guard let service = serviceAccount() else { return }
  guard let folder = try? FileStatus.of(path) else {
    // Without systemd, the first login through a program that runs as root creates it.
    if isSystemdRunning { run.tell(.noRunFolder(path)) }
    return
  }
  guard folder.kind == .directory else { return run.tell(.runIsNoFolder(path)) }
  guard folder.owner == service.uid, folder.mode & 0o077 == 0 else { return run.tell(.sharedRunFolder(path)) }
  // `_passcode` could have put a link there.
  let waiting = Text("\(path)/waiting").bytes
  guard let file = try? FileStatus.of(waiting) else { return }
  if file.kind != .file || file.links != 1 || file.owner != service.uid || file.mode & 0o077 != 0 {
    run.tell(.unsoundWaiting(waiting))
  }
}

var isSystemdRunning: Bool { (try? FileStatus.of(Bytes(text: "/run/systemd/system"))) != nil }
