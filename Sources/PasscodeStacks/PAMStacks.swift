public import PasscodePolicy

/// All PAM service files of a system: which services ask for the passcode, and what is wrong with the lines that do.
///
/// It reads nothing itself: its owner adds the files of both folders, and then those that it wants.
public struct PAMStacks: Sendable {
  /// A name in the first hides the same name in the second.
  public static var folders: [Bytes] { [Bytes(text: firstFolder), Bytes(text: secondFolder)] }
  private static var firstFolder: Literal { "/etc/pam.d" }
  private static var secondFolder: Literal { "/usr/lib/pam.d" }

  /// As many files within files as libpam reads.
  static let deepest = 16
  /// Lines of one service; and files.
  private static let most = 1_000

  /// What came of reading a file.
  public enum Content: Sendable {
    case found(PAMFile)
    case missing
    case unreadable(PAMUnread.Reason)
  }

  var files: [(path: Bytes, content: Content)] = []

  public init() {}

  public mutating func add(_ path: Bytes, _ content: Content) {
    files.append((path, content))
  }

  /// A file that is included and wasn't added yet; nil: there is none.
  public func wanted() -> Bytes? {
    guard files.count < PAMStacks.most else { return nil }
    for file in files {
      guard case .found(let found) = file.content else { continue }
      for line in found.lines {
        guard case .include(let name, _) = line.rule else { continue }
        for path in PAMStacks.paths(name) {
          guard let known = content(path) else { return path }
          if case .missing = known { continue }
          break
        }
      }
    }
    return nil
  }

  /// The paths at which libpam looks for a service's file.
  @inline(never)
  static func paths(_ name: Bytes) -> [Bytes] {
    if name.first == UInt8(ascii: "/") { return [name] }
    return folders.map { Text("\($0)/\(name)").bytes }
  }

  @inline(never)
  func content(_ path: Bytes) -> Content? {
    files.first { $0.path == path }?.content
  }

  /// What is known of a file that wasn't added.
  private var unread: Content {
    files.count < PAMStacks.most ? .missing : .unreadable(.tooManyFiles)
  }

  // MARK: - The stack of a service

  @inline(never)
  func stack(of service: Bytes) throws(PAMUnread) -> PAMStack {
    var stack = PAMStack()
    if case .cut = try addLines(of: service, of: .every, to: &stack, level: 0, depth: 0) {
      stack.isRefused = true
    }
    if stack.isRefused {
      stack.entries.insert(
        PAMStack.Entry(role: .deny, control: PAMControl(.die, .die), path: service, line: 0, level: 0), at: 0)
    }
    return stack
  }

  private enum Reading {
    case whole, missing
    /// The file's last line goes on, and nothing follows.
    case cut
  }

  /// - Parameter kind: `.auth` where a line of that type includes the file.
  private func addLines(
    of name: Bytes, of kind: PAMLine.Kind, to stack: inout PAMStack, level: Int, depth: Int
  ) throws(PAMUnread) -> Reading {
    for path in PAMStacks.paths(name) {
      switch content(path) ?? unread {
      case .missing: continue
      case .unreadable(let why): throw PAMUnread(path: path, reason: why)
      case .found(let file):
        guard depth < PAMStacks.deepest else {
          throw PAMUnread(path: path, reason: .tooDeep)
        }
        for line in file.lines where line.kind == .auth || line.kind == .every {
          try add(line, of: path, of: kind, to: &stack, level: level, depth: depth)
        }
        guard let line = file.cutLine else { return .whole }
        stack.broken.append(PAMRuleFinding(path, line, .badLine))
        return .cut
      }
    }
    return .missing
  }

  private func add(
    _ line: PAMLine, of path: Bytes, of kind: PAMLine.Kind, to stack: inout PAMStack, level: Int, depth: Int
  ) throws(PAMUnread) {
    stack.linesRead += 1
    guard stack.linesRead <= PAMStacks.most else {
      throw PAMUnread(path: path, reason: .tooManyLines(PAMStacks.most))
    }
    // Of what libpam doesn't understand, or doesn't find.
    var refusal = PAMControl.Action.bad
    switch line.rule {
    case .broken(let control):
      refusal = control.denied
      stack.broken.append(PAMRuleFinding(path, line.number, .badLine))
    case .module(let module, let control, let arguments):
      if !control.isUnderstood { stack.broken.append(PAMRuleFinding(path, line.number, .badControl)) }
      stack.entries.append(
        PAMStack.Entry(
          role: PAMStack.role(module, arguments), module: module, control: control, path: path,
          line: line.number, level: level))
      return
    case .include(let name, let isSubstack):
      if isSubstack {
        stack.entries.append(
          PAMStack.Entry(
            role: .other, control: PAMControl(.ignore, .ignore), path: path, line: line.number, level: level))
      }
      if !line.hasType { stack.broken.append(PAMRuleFinding(path, line.number, .badLine)) }
      let read: PAMLine.Kind = line.kind == .every ? kind : .auth
      let inner = level + (isSubstack ? 1 : 0)
      switch try addLines(of: name, of: read, to: &stack, level: inner, depth: depth + 1) {
      case .whole: return
      case .missing: stack.broken.append(PAMRuleFinding(path, line.number, .missingFile(name)))
      case .cut: break
      }
      // In a file for auth only, what an `@include` leaves then is whatever was in libpam's memory.
      if read == .every { stack.isRefused = true }
    }
    stack.entries.append(
      PAMStack.Entry(
        role: .deny, control: PAMControl(refusal, refusal), path: path, line: line.number, level: level))
  }
}

// MARK: - What is to be told

/// Which services ask for the passcode, and what is wrong with it.
public struct PAMReport: Sendable {
  /// Services, by the file that holds the line: their own, or one that they include.
  public struct Group: Equatable, Sendable {
    public let path: Bytes
    public internal(set) var services: [Bytes]
  }

  public internal(set) var groups: [Group] = []
  /// The services that also offer the fingerprint reader, in groups.
  public internal(set) var offering: [Group] = []
  /// The findings of all services, each once.
  public internal(set) var findings: [PAMFinding] = []
  /// Whether these ask for the passcode isn't known.
  public internal(set) var unknown: [PAMUnread] = []
}

extension PAMStacks {
  /// - Parameter options: those of the configuration, which the lines override.
  public func report(_ options: Options) -> PAMReport {
    var report = PAMReport()
    for file in files {
      if case .unreadable(let why) = file.content {
        report.unknown.append(PAMUnread(path: file.path, reason: why))
      }
    }
    for service in services() {
      do throws(PAMUnread) {
        let stack = try stack(of: service)
        if !stack.isRefused { report.add(service, stack, options) }
      } catch {
        if !report.unknown.contains(error) { report.unknown.append(error) }
      }
    }
    return report
  }

  /// The names of both folders, in ascending order, but for copies that editors and package tools leave, and for what is
  /// there to be included only.
  @inline(never)
  func services() -> [Bytes] {
    var names: [Bytes] = []
    for file in files {
      let name = Bytes(fileName(file.path))
      // libpam looks for a service in lower case.
      guard PAMStacks.isOfFolders(file.path), PAMStacks.isService(name), lowercased(name) == name else {
        continue
      }
      let place = names.firstIndex { !$0.lexicographicallyPrecedes(name) } ?? names.count
      if place == names.count || names[place] != name { names.insert(name, at: place) }
    }
    return names
  }

  /// Whether each login of a service is remote.
  static func isRemote(_ service: Bytes) -> Bool {
    isAmong("sshd cockpit vsftpd proftpd dovecot imap pop3 smtp cups xrdp-sesman ppp samba", service[...])
  }

  /// Whether a file lies directly in one of the folders.
  @inline(never)
  static func isOfFolders(_ path: Bytes) -> Bool {
    let folder = path.dropLast(fileName(path).count + 1)
    return folder.spells(firstFolder) || folder.spells(secondFolder)
  }

  static func isService(_ name: Bytes) -> Bool {
    if name.isEmpty || name[...].begins(with: ".") || name[...].begins(with: "common-") { return false }
    let ending = name.lastIndex(of: UInt8(ascii: ".")).map { name[($0 + 1)...] } ?? []
    return name.last != UInt8(ascii: "~") && !ending.begins(with: "dpkg-")
      && !isAmong("bak old orig save pam-old ucf-old ucf-new ucf-dist rpmnew rpmsave rpmorig pacnew", ending)
  }
}

extension PAMReport {
  @inline(never)
  fileprivate mutating func add(_ service: Bytes, _ stack: PAMStack, _ options: Options) {
    var isFirst = true
    var isOffering = false
    for index in stack.entries.indices {
      let entry = stack.entries[index]
      guard case .passcode(let arguments) = entry.role else { continue }
      let isSecond = stack.needsBoth(passcodeAt: index)
      let line = PAMPasscodeLine(entry: entry, arguments: arguments, isSecond: isSecond)
      if isFirst, line.asks(in: service, options) {
        PAMReport.add(service, entry.path, to: &groups)
        isFirst = false
      }
      if !isOffering, line.offersFinger(options) {
        PAMReport.add(service, entry.path, to: &offering)
        isOffering = true
      }
      for finding in line.findings(options) where !findings.contains(finding) { findings.append(finding) }
    }
  }

  @inline(never)
  private static func add(_ service: Bytes, _ path: Bytes, to groups: inout [Group]) {
    if let index = groups.firstIndex(where: { $0.path == path }) {
      groups[index].services.append(service)
    } else {
      groups.append(Group(path: path, services: [service]))
    }
  }
}
