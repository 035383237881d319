public import PasscodePolicy

extension PAMStacks {
  /// The rules of `PAMRule`, for every service that asks for the passcode.
  ///
  /// - Parameter options: as in `report`.
  /// - Returns: each finding once.
  public func check(_ options: Options, _ surroundings: PAMSurroundings) -> [PAMRuleFinding] {
    var (findings, surroundings): ([PAMRuleFinding], PAMSurroundings) = ([], surroundings)
    forEachPasscodeLine { path, line, _, arguments in
      switch line.kind {
      case .session: surroundings.hasSessionLine = true
      case .account, .password: findings.append(PAMRuleFinding(path, line.number, .wrongType))
      case .auth, .every: if ModuleLine.notesProof(arguments) { surroundings.hasProofLine = true }
      }
    }
    let services = services()
    for service in services {
      guard let stack = try? stack(of: service) else { continue }
      var found: [PAMRuleFinding] = []
      if service.spells("passcode") {
        found = passwordService(stack)
        stack.addValidOnce(to: &found, surroundings)
      } else if !stack.broken.isEmpty {
        // Other findings may only follow from these.
        found = stack.firstPasscode == nil ? [] : stack.broken
      } else {
        for index in stack.entries.indices {
          guard case .passcode(let arguments) = stack.entries[index].role else { continue }
          let line = PAMRuleContext(
            service, stack, index, arguments, options.policy, options.door(with: arguments), surroundings)
          for case let rule? in line.findings() {
            found.append(PAMRuleFinding(line.entry.path, line.entry.line, rule))
          }
        }
        if stack.notesProof { stack.addValidOnce(to: &found, surroundings) }
      }
      add(found, to: &findings)
    }
    if let finding = rootsWay(services, surroundings) { findings.append(finding) }
    return findings
  }

  @inline(never)
  private func add(_ found: [PAMRuleFinding], to findings: inout [PAMRuleFinding]) {
    for finding in found where !findings.contains(finding) { findings.append(finding) }
  }

  /// The absolute paths by which lines name the module.
  public func modulePaths() -> [PAMRuleFinding] {
    var paths: [PAMRuleFinding] = []
    forEachPasscodeLine { path, line, module, _ in
      guard module.first == UInt8(ascii: "/") else { return }
      paths.append(PAMRuleFinding(path, line.number, .missingFile(module)))
    }
    return paths
  }

  /// Every line that names the module, in every file that libpam may read.
  ///
  /// - Parameter tell: gets the file's path, the line, the module as it is named there, and its arguments.
  @inline(never)
  private func forEachPasscodeLine(_ tell: (Bytes, PAMLine, Bytes, [Bytes]) -> Void) {
    for file in files {
      guard case .found(let found) = file.content else { continue }
      let name = Bytes(fileName(file.path))
      let isCopy = PAMStacks.isOfFolders(file.path) && !PAMStacks.isService(name)
      if isCopy && !name[...].begins(with: "common-") { continue }
      for line in found.lines {
        guard case .module(let module, _, let arguments) = line.rule,
          fileName(module).spells("pam_passcode.so")
        else { continue }
        tell(file.path, line, module, arguments)
      }
    }
  }

  private func passwordService(_ stack: PAMStack) -> [PAMRuleFinding] {
    if let entry = stack.firstPasscode {
      return [PAMRuleFinding(entry.path, entry.line, .asksInPasswordService)]
    }
    guard stack.opensToAnyone(.wrong), let entry = stack.entries.first else { return [] }
    return [PAMRuleFinding(entry.path, 0, .passwordServiceOpen)]
  }

  /// Finds nothing if root can get in with the password alone: root may have no passcode, or one that is locked out.
  private func rootsWay(_ services: [Bytes], _ surroundings: PAMSurroundings) -> PAMRuleFinding? {
    let ways = Bytes(text: "login su sudo sshd gdm-password lightdm sddm greetd")
    var first: PAMStack.Entry?
    for way in ways[...].words() {
      guard services.contains(where: { $0.elementsEqual(way) }) else { continue }
      // A service that can't be read may let root in.
      guard let stack = try? stack(of: Bytes(way)), stack.broken.isEmpty else { return nil }
      let refusal: PAMStack.Refusal = surroundings.rootHasPasscode == true ? .unasked : .ignored
      for others in PAMStack.Others.allCases {
        if stack.opens(password: true, passcodeAt: nil, refusal: refusal, others: others) { return nil }
      }
      first = first ?? stack.firstPasscode
    }
    return first.map {
      PAMRuleFinding($0.path, $0.line, .rootNeedsPasscode(surroundings.rootHasPasscode))
    }
  }
}

extension PAMStack {
  /// Whether it has the line `proven`, the only one with the module that asks for nothing.
  fileprivate var notesProof: Bool {
    entries.contains { $0.role == .other && $0.isOne(of: "pam_passcode") }
  }

  /// Adds the lines whose passwords may be valid only once, with a one-time code in them.
  @inline(never)
  fileprivate func addValidOnce(to found: inout [PAMRuleFinding], _ surroundings: PAMSurroundings) {
    for entry in entries
    where entry.isOne(of: surroundings.hasFreeIPA ? "pam_radius_auth pam_sss" : "pam_radius_auth") {
      found.append(PAMRuleFinding(entry.path, entry.line, .validOnce(entry.moduleName)))
    }
  }

  fileprivate var firstPasscode: Entry? {
    entries.first { if case .passcode = $0.role { true } else { false } }
  }
}
