internal import PasscodePolicy

/// The auth lines that libpam runs for one service, with those that are included, in their order.
struct PAMStack: Sendable {
  /// The part that a module plays beside the passcode.
  enum Role: Equatable, Sendable {
    case passcode([Bytes])
    /// The module asks for the account's password.
    case password
    /// The module lets everybody pass, or nobody, as far as the question goes: pam_permit, pam_deny, and others like them.
    case permit, deny
    /// Any other module: it lets nobody in by a password, and is ignored.
    case other
  }

  final class Entry: Sendable {
    let role: Role
    /// The module's file as the line names it; empty: the line names none.
    let module: Bytes
    let control: PAMControl
    let path: Bytes
    let line: Int
    /// The number of substacks around the line.
    let level: Int

    /// A module that normally doesn't refuse anyone.
    fileprivate var isHarmless: Bool {
      isOne(
        of: """
          pam_env pam_cap pam_group pam_faildelay pam_nologin pam_mail pam_motd pam_limits pam_warn pam_echo pam_issue \
          pam_gnome_keyring pam_kwallet5 pam_kwallet pam_securetty pam_shells pam_mount pam_fscrypt \
          pam_ecryptfs
          """)
    }

    /// A module that asks for no secret, in a line that everybody it lets pass must pass.
    fileprivate var isGate: Bool {
      control.success == .ok
        && isOne(
          of: """
            pam_succeed_if pam_usertype pam_localuser pam_listfile pam_access pam_time pam_shells pam_securetty
            """)
    }

    /// - Parameter names: modules, without `.so`.
    @inline(never)
    func isOne(of names: Literal) -> Bool {
      let name = fileName(module)
      guard name.suffix(3).spells(".so") else { return false }
      return isAmong(names, name.dropLast(3))
    }

    /// The module, without folder and `.so`.
    @inline(never)
    var moduleName: Bytes { Bytes(fileName(module).dropLast(3)) }

    @inline(never)
    init(
      role: Role, module: Bytes = [], control: PAMControl, path: Bytes, line: Int, level: Int
    ) {
      self.role = role
      self.module = module
      self.control = control
      self.path = path
      self.line = line
      self.level = level
    }
  }

  var entries: [Entry] = []
  /// Lines that libpam doesn't accept, and files that it doesn't find.
  var broken: [PAMRuleFinding] = []
  /// libpam refuses the whole service.
  var isRefused = false
  /// How many lines were read, with those that include files.
  var linesRead = 0

  static func role(_ module: Bytes, _ arguments: [Bytes]) -> Role {
    let name = fileName(module)
    if name.spells("pam_passcode.so") {
      return ModuleLine.notesProof(arguments) ? .other : .passcode(arguments)
    }
    if name.spells("pam_permit.so") { return .permit }
    if name.spells("pam_deny.so") { return .deny }
    // authfail only counts failures; else it refuses who has too many. pam_rootok lets root in without any secret, which
    // isn't the question here.
    if name.spells("pam_faillock.so") {
      return arguments.contains { $0.spells("authfail") } ? .deny : .permit
    }
    if name.spells("pam_rootok.so") { return .deny }
    return isAmong("pam_unix.so pam_sss.so pam_ldap.so pam_krb5.so pam_winbind.so", name) ? .password : .other
  }

  /// How a line with the passcode refuses.
  enum Refusal: CaseIterable {
    /// The passcode is wrong; without `either`, it is locked, too.
    case wrong
    /// No passcode is set.
    case unasked
    /// No passcode is set, and the line has `nullok`; without `nullok` the same as `unasked`.
    case ignored
    /// The passcode isn't taken here and now: the login is remote, the password is due.
    case denied
  }

  /// Whether the password alone opens it no more than this passcode alone, and both together do.
  func needsBoth(passcodeAt index: Int) -> Bool {
    opens(password: true, passcodeAt: index) && !opens(password: true, passcodeAt: nil)
      && !opens(password: false, passcodeAt: index)
  }

  /// Whether libpam gets to a line if the passcode at another line is right.
  func comes(to line: Int, passcodeAt index: Int) -> Bool {
    var visited: [Int] = []
    return run(false, index..<index + 1, .wrong, .absent, &visited) && visited.contains(line)
  }

  /// What modules that ask for neither password nor passcode are assumed to do.
  enum Others: CaseIterable {
    /// These modules count as if their lines weren't there.
    case absent
    case succeed
    case fail
    /// Those that ask for no secret, and let the person pass, succeed; the others are absent.
    case gates
  }

  /// What libpam has so far. It returns the status of what was ok for a line, and that may be a failure.
  private enum Impression: Equatable {
    case none, positive, positiveButFailed, negative
  }

  /// Runs it as libpam's pam_dispatch.c does.
  ///
  /// - Parameters:
  ///   - password: whether the password is right.
  ///   - index: the line at which the passcode is right; at all others it isn't.
  ///   - refusal: how these lines refuse.
  ///   - others: what all other modules do.
  @inline(never)
  func opens(
    password: Bool, passcodeAt index: Int?, refusal: Refusal = .wrong, others: Others = .absent
  ) -> Bool {
    var visited: [Int] = []
    return run(password, index.map { $0..<$0 + 1 }, refusal, others, &visited)
  }

  /// Whether it opens without any secret: whatever other modules do, or to whom those let pass that ask for none.
  @inline(never)
  func opensToAnyone(_ refusal: Refusal) -> Bool {
    func opens(_ others: Others) -> Bool {
      self.opens(password: false, passcodeAt: nil, refusal: refusal, others: others)
    }
    return opens(.gates) || opens(.absent) && opens(.succeed) && opens(.fail)
  }

  /// Whether a passcode that is right at each line that asks for one opens it.
  func opensByPasscode(_ password: Bool, _ others: Others) -> Bool {
    var visited: [Int] = []
    return run(password, entries.indices, .wrong, others, &visited)
  }

  /// - Parameters:
  ///   - lines: those at which the passcode is right.
  ///   - visited: gets the lines that libpam came to.
  private func run(
    _ password: Bool, _ lines: Range<Int>?, _ refusal: Refusal, _ others: Others, _ visited: inout [Int]
  ) -> Bool {
    var impression = Impression.none
    // At most 16 substacks deep (PAMStacks.deepest).
    var before = InlineArray<17, Impression>(repeating: .none)
    var level = 0
    var next = 0
    while next < entries.count {
      let current = next
      let entry = entries[current]
      if level < entry.level { before[entry.level] = impression }
      level = entry.level
      next += 1
      visited.append(current)
      let succeeds =
        switch entry.role {
        case .other: others == .succeed || others == .gates && entry.isGate
        case .permit: true
        case .deny: false
        case .password: password
        case .passcode: lines?.contains(current) == true
        }
      var action = succeeds ? entry.control.success : entry.failure(refusal, others)
      if case .jump(let count) = action {
        if let target = jump(count, from: current) { next = target } else { action = .die }
      }
      switch action {
      case .ignore, .jump: break
      case .reset: impression = before[level]
      case .ok, .done:
        if impression == .none || impression == .positive {
          impression = succeeds ? .positive : .positiveButFailed
        }
        if action == .done, impression != .negative { next = end(after: current) }
      case .bad: impression = .negative
      case .die:
        impression = .negative
        next = end(after: current)
      }
    }
    return impression == .positive
  }

  /// Behind the substack that this line is in; behind all, if it is in none.
  private func end(after index: Int) -> Int {
    var next = index + 1
    while next < entries.count, entries[next].level >= entries[index].level { next += 1 }
    return next
  }

  /// A whole substack counts as one line. nil: there aren't so many, which libpam doesn't forgive.
  func jump(_ lines: Int, from index: Int) -> Int? {
    let level = entries[index].level
    var next = index + 1
    for _ in 0..<lines {
      guard next < entries.count, entries[next].level >= level else { return nil }
      repeat { next += 1 } while next < entries.count && entries[next].level > level
    }
    return next
  }
}

extension PAMStack.Entry {
  /// What becomes of it when its module doesn't let the person in.
  fileprivate func failure(_ refusal: PAMStack.Refusal, _ others: PAMStack.Others) -> PAMControl.Action {
    switch role {
    case .other where others != .fail || isHarmless: .ignore
    case .passcode(let arguments):
      switch refusal {
      case .wrong: control.failure
      case .unasked: control.unasked
      case .ignored: takesNullok(arguments) ? control.ignored : control.unasked
      case .denied: control.denied
      }
    default: control.failure
    }
  }
}

func takesNullok(_ arguments: [Bytes]) -> Bool {
  arguments.contains { $0.spells("nullok") || $0.spells("nullok=yes") }
}

/// - Parameter words: separated by blanks.
@inline(never)
func isAmong(_ words: Literal, _ word: ArraySlice<UInt8>) -> Bool {
  for other in Bytes(text: words)[...].words() where other.elementsEqual(word) { return true }
  return false
}

/// What follows the last slash.
@inline(never)
func fileName(_ path: Bytes) -> ArraySlice<UInt8> {
  path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...]
}
