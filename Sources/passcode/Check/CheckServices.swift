internal import PasscodeAdmin
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeStacks
internal import PasscodeSystem
internal import PasscodeVault

// PAM service files, pam-auth-update's profile, and the units of other programs.

func checkServices(_ run: CheckRun) {
  let stacks = readStacks()
  let options = run.configuration.options
  let report = stacks.report(options)
  for unread in report.unknown { run.tell(.unread(unread)) }
  for finding in report.findings { run.tell(.line(finding)) }
  for finding in stacks.check(options, surroundings(run)) { run.tell(.rule(finding)) }
  for named in stacks.modulePaths() {
    guard case .missingFile(let module) = named.rule else { continue }
    let isInstalled = isInstalledModule(module)
    if isInstalled != true {
      run.tell(.otherModule(named.path, named.line, module: module, isThere: isInstalled != nil))
    }
  }
  do throws(Fault) { try PasswordService.check() } catch { run.tell(.fault(error)) }
  if report.groups.isEmpty, report.unknown.isEmpty { run.tell(.nobodyAsks) }
  let sudo = Bytes(text: "sudo")
  if run.access == .root, report.groups.contains(where: { $0.services.contains(sudo) }), sudoHidesMessages() {
    run.detail = CheckDetail.hiddenMessages
  }
}

/// Whether sudo has `pam_silent` (since 1.9.16), and the administrator hasn't decided about it. Only files are read:
/// `sudo -V` can wait for name servers.
private func sudoHidesMessages() -> Bool {
  let option: Literal = "pam_silent"
  let plugins = ["/usr/libexec/sudo/sudoers.so", "/usr/lib/sudo/sudoers.so"] as [Literal]
  guard plugins.contains(where: { contains(content(Bytes(text: $0), 4 << 20), option) }) else { return false }
  let folder = Bytes(text: "/etc/sudoers.d")
  let files = [Bytes(text: "/etc/sudoers")] + names(folder).map { Text("\(folder)/\($0)").bytes }
  return !files.contains { contains(content($0), option) }
}

private func surroundings(_ run: CheckRun) -> PAMSurroundings {
  var surroundings = PAMSurroundings()
  surroundings.modules = names(Installed.modules)
  surroundings.hasManagedHomes = names(Bytes(text: "/var/lib/systemd/home")).contains {
    $0.suffix(9).spells(".identity")
  }
  surroundings.hasFreeIPA = names(Bytes(text: "/etc/ipa")).contains { $0.spells("default.conf") }
  if run.access == .root, case .found(let root) = Account.numbered(0) {
    surroundings.rootHasPasscode = run.vault.hasPasscode(root)
  }
  return surroundings
}

/// The names in a directory; none if it can't be read.
private func names(_ folder: Bytes) -> [Bytes] {
  (try? Descriptor.open(Text("\(folder)/.").bytes, .directory).names()) ?? []
}

/// A file's first 64 KiB, or as much as is said; empty if it can't be read.
@inline(never)
private func content(_ path: Bytes, _ most: Int = PAMFile.largest) -> Bytes {
  (try? Descriptor.open(path, .readLinked).read(most, at: 0)) ?? []
}

/// Whether `text` occurs in the bytes.
private func contains(_ bytes: Bytes, _ text: Literal) -> Bool {
  bytes.indices.contains { bytes[$0...].begins(with: text) }
}

// MARK: - pam-auth-update

func checkProfile(_ run: CheckRun) {
  for type in ["auth", "session"] as [Text] {
    let saved = content(Text("/var/lib/pam/\(type)").bytes)
    guard contains(saved, "pam_passcode.so") else { continue }
    let path = Text("/etc/pam.d/common-\(type)").bytes
    let file = content(path)
    if !contains(file, "pam_passcode.so") {
      run.tell(.lostProfile(path))
    } else if let line = editedLine(file, saved: saved) {
      run.tell(.editedProfile(path, line))
    }
  }
}

// MARK: - Units

/// systemd's folders; a name in the first hides the same name in the others.
private var roots: [Bytes] { [Bytes(text: "/etc"), Bytes(text: "/run"), Bytes(text: "/usr/lib")] }

func checkUnits(_ run: CheckRun) {
  checkPolkit(run)
  guard isSystemdRunning else { return }
  let paths = roots.map { Text("\($0)/tmpfiles.d/passcode.conf").bytes }
  let first = paths.first { (try? Descriptor.open($0, .readLinked)) != nil }
  if first.map({ contains(content($0), "/run/passcode") }) != true { run.tell(.noTmpfiles) }
}

/// polkit (127 and later) runs PAM in a systemd unit that may write only to the paths that drop-ins name.
private func checkPolkit(_ run: CheckRun) {
  let unit: Text = "systemd/system/polkit-agent-helper@.service"
  guard let text = roots.map({ content(Text("\($0)/\(unit)").bytes) }).first(where: { !$0.isEmpty }),
    contains(text, "ProtectSystem=")
  else { return }
  var seen: [Bytes] = []
  var writable: [Bytes] = writablePaths(text)
  for root in roots {
    let folder = Text("\(root)/\(unit).d").bytes
    for name in names(folder) where name.suffix(5).spells(".conf") && !seen.contains(name) {
      seen.append(name)
      writable += writablePaths(content(Text("\(folder)/\(name)").bytes))
    }
  }
  let store = run.configuration.options.policy.store
  let isWritable = writable.contains { store == $0 || store.starts(with: $0 + [UInt8(ascii: "/")]) }
  if !isWritable { run.tell(.polkitCannotWrite(store)) }
}

/// `ReadWritePaths=-/var/lib/passcode -/run/passcode`
func writablePaths(_ unit: Bytes) -> [Bytes] {
  var paths: [Bytes] = []
  for line in unit[...].parts(between: UInt8(ascii: "\n")) where line.begins(with: "ReadWritePaths=") {
    for word in line.dropFirst(15).words() {
      paths.append(Bytes(word.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }))
    }
  }
  return paths
}
