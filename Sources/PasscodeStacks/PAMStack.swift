internal import PasscodePolicy

/// The auth lines that libpam runs for one service, with those that are included, in their order.
struct PAMStack: Sendable {
  /// What a module is to us.
  enum Role: Equatable, Sendable {
    case passcode([Bytes])
    /// It asks for the account's password.
    case password
    /// pam_permit, pam_deny.
    case permit, deny
    /// It lets nobody in by a password, and is taken as if it weren't there.
    case other
  }

  final class Entry: Sendable {
    let role: Role
    let control: PAMControl
    let path: Bytes
    let line: Int
    /// How many substacks it lies in.
    let level: Int

    init(role: Role, control: PAMControl, path: Bytes, line: Int, level: Int) {
      self.role = role
      self.control = control
      self.path = path
      self.line = line
      self.level = level
    }
  }

  var entries: [Entry] = []
  /// With those that include others.
  var linesRead = 0

  static func role(_ module: Bytes, _ arguments: [Bytes]) -> Role {
    let name = fileName(module)
    if name.spells("pam_passcode.so") { return .passcode(arguments) }
    if name.spells("pam_permit.so") { return .permit }
    if name.spells("pam_deny.so") { return .deny }
    let ofPasswords = Bytes(text: "pam_unix.so pam_sss.so pam_ldap.so pam_krb5.so pam_winbind.so")
    return ofPasswords[...].words().contains { $0.elementsEqual(name) } ? .password : .other
  }

  /// Whether the password alone opens it no more than this passcode alone, and both together do.
  func needsBoth(passcodeAt index: Int) -> Bool {
    opens(password: true, passcodeAt: index) && !opens(password: true, passcodeAt: nil)
      && !opens(password: false, passcodeAt: index)
  }

  private enum Impression: Equatable {
    case none, positive, negative
  }

  /// Runs it as libpam's pam_dispatch.c does.
  ///
  /// - Parameters:
  ///   - password: whether the password is right.
  ///   - index: the line at which the passcode is right; at all others it isn't.
  @inline(never)
  func opens(password: Bool, passcodeAt index: Int?) -> Bool {
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
      switch action(entry, password: password, passcode: current == index) {
      case .ignore: break
      case .reset: impression = before[level]
      case .ok: if impression == .none { impression = .positive }
      case .done:
        if impression == .none { impression = .positive }
        if impression == .positive { next = end(after: current) }
      case .bad: impression = .negative
      case .die:
        impression = .negative
        next = end(after: current)
      case .jump(let lines):
        guard let target = jump(lines, from: current) else { return false }
        next = target
      }
    }
    return impression == .positive
  }

  private func action(_ entry: Entry, password: Bool, passcode: Bool) -> PAMControl.Action {
    switch entry.role {
    case .other: .ignore
    case .permit: entry.control.success
    case .deny: entry.control.failure
    case .password: password ? entry.control.success : entry.control.failure
    case .passcode: passcode ? entry.control.success : entry.control.failure
    }
  }

  /// Behind the substack that this line is in; behind all, if it is in none.
  private func end(after index: Int) -> Int {
    var next = index + 1
    while next < entries.count, entries[next].level >= entries[index].level { next += 1 }
    return next
  }

  /// A whole substack counts as one line. nil: there aren't so many, which libpam doesn't forgive.
  private func jump(_ lines: Int, from index: Int) -> Int? {
    let level = entries[index].level
    var next = index + 1
    for _ in 0..<lines {
      guard next < entries.count, entries[next].level >= level else { return nil }
      repeat { next += 1 } while next < entries.count && entries[next].level > level
    }
    return next
  }
}

/// What follows the last slash.
func fileName(_ path: Bytes) -> ArraySlice<UInt8> {
  path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...]
}
