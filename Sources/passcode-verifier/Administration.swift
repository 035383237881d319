internal import PasscodeAdmin
internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// An administrator's commands, as root on a server.
struct Administration {
  let order: Order
  let vault: Vault
  let fleet: FleetVault<EtcdClient>
  let sodium: Sodium

  static func run(_ order: Order) throws(Failure) -> ExitStatus {
    guard ProcessIdentity.current().effective == 0 else { throw .onlyRoot }
    guard let sodium = Sodium() else { throw .noLibrary }
    let configuration = try reporting { () throws(Fault) in
      try Configuration.load(ModuleLine(configuration: nil), ProcessIdentity.current())
    }
    let vault = Vault(configuration, sodium) { SystemLog.notice($0.logLine) }
    switch order.command {
    case .initialize:
      try initialize(configuration, sodium)
      note("fleet key created")
      say(order, Words.initialized)
    case .restored:
      try reporting { () throws(Fault) in try declareRestored(vault) }
      note("etcd declared restored")
      say(order, Words.restored)
    case .seen, .check, .metrics, .list, .status, .enroll, .invite, .remove, .unlock, .disable, .enable:
      let start: SeenFile.Start = order.command == .seen ? .allowed : .refused
      if let least = order.least {
        try reporting { () throws(Fault) in
          try SeenFile(SeenFile.usualPath, for: configuration.access, .allowed).raise(to: least)
        }
        note("etcd's revision taken from other servers")
      }
      let fleet = try reporting { () throws(Fault) in try FleetServer.open(vault, start) {} }
      return try Administration(order: order, vault: vault, fleet: fleet, sodium: sodium).run()
    }
    return .done
  }

  private func run() throws(Failure) -> ExitStatus {
    if let list = order.list { return try FleetBatch(self, list).run() }
    if order.has(.workstation) { return try handleWorkstation() }
    switch order.command {
    // ServerCheck and Metrics go on where this one throws.
    case .initialize, .restored, .check, .metrics: return .usage
    case .seen:
      try reporting { () throws(Fault) in _ = try fleet.noteEpoch(isTold: order.has(.first)) }
      if order.has(.first) { Administration.note("etcd declared not restored") }
      if let count = try? fleet.alarm() { Administration.warn(count) }
    case .list: return try list()
    case .status: return try show(order.user)
    case .enroll: try enroll()
    case .invite: try invite()
    case .remove, .unlock, .disable, .enable:
      let changed = try reporting { () throws(Fault) in try change(order.user) }
      guard let changed, let act = order.command.act else { throw .notEnrolled(order.user) }
      say(order, changed ? act.done(order.user) : act.already(order.user))
    }
    return .done
  }

  /// - Returns: whether it changed anything; nil where there is nothing to change.
  func change(_ account: Bytes) throws(Fault) -> Bool? {
    let changed: Bool?
    switch order.command {
    case .remove: changed = try fleet.remove(account) ? true : nil
    case .unlock: changed = try fleet.unlock(account)
    case .disable: changed = try fleet.disable(account, true)
    case .enable: changed = try fleet.disable(account, false)
    case .initialize, .restored, .seen, .check, .metrics, .list, .status, .enroll, .invite: changed = nil
    }
    if changed == true, let act = order.command.act { Administration.note(act.event, account) }
    return changed
  }

  /// `unlock` and `status` of a workstation.
  private func handleWorkstation() throws(Failure) -> ExitStatus {
    let name = order.workstation
    let configuration = vault.configuration
    let isListed = try reporting { () throws(Fault) in try FleetServer.lists(name, configuration) }
    guard isListed else { throw .notListed(name) }
    let workstation = FleetServer.workstation(name)
    if order.command == .unlock {
      let changed = try reporting { () throws(Fault) in try fleet.unlock(station: workstation) }
      if changed { Administration.note("workstation unlocked", workstation: name) }
      say(order, Words.unlocked(name, changed))
    } else {
      let report = try reporting { () throws(Fault) in try fleet.station(workstation) }
      try write("\(Words.line(name, report))\n")
    }
    return .done
  }

  // MARK: What there is

  private func show(_ account: Bytes) throws(Failure) -> ExitStatus {
    let report = try reporting { () throws(Fault) in try fleet.report(account) }
    try write(line(report))
    return report.status.isEnrolled ? .done : .notEnrolled
  }

  /// Everybody who has a passcode or a one-time code, or is disabled.
  private func list() throws(Failure) -> ExitStatus {
    var list = try reporting { () throws(Fault) in try FleetList(fleet) }
    var text: Text = ""
    while let report = try reporting({ () throws(Fault) in try list.next() }) {
      if isAsked(report) { text += line(report) }
      guard text.bytes.count > 1 << 16 else { continue }
      try write(text)
      text.removeAll()
    }
    try write(text)
    return .done
  }

  private func isAsked(_ report: FleetReport) -> Bool {
    guard let since = order.since else { return report.isAnything }
    return report.isAnything && Status(.inFleet(report.account), report.status).isRecent(within: since)
  }

  private func line(_ report: FleetReport) -> Text {
    guard order.has(.json) else { return "\(Words.line(report))\n" }
    let fields = Status(.inFleet(report.account), report.status).jsonFields
    let seconds: Text = report.codeSeconds.map { "\($0)" } ?? "null"
    return "{\(fields),\"code_seconds_left\":\(seconds)}\n"
  }

  private func write(_ text: Text) throws(Failure) {
    guard Stream.output.write(text.bytes) else { throw .unwritable }
  }

  // MARK: What is said of what was done

  @inline(never)
  static func say(_ order: Order, _ phrase: Phrase) {
    if !order.has(.quiet) { _ = Stream.output.write(Text("\(phrase)\n").bytes) }
  }

  private func say(_ order: Order, _ phrase: Phrase) { Administration.say(order, phrase) }

  /// Writes what was done to the system's log, with the person who ran it.
  static func note(_ event: Text, _ account: Bytes = [], workstation: Bytes = []) {
    var line = LogLine("passcode-verifier: \(event)")
    if workstation.isEmpty { line.add("user", account) } else { line.add("workstation", workstation) }
    line.add("by_uid", UInt64(ProcessIdentity.current().real))
    line.add("loginuid", ProcessIdentity.loginUID())
    line.add("sudo_user", environment("SUDO_USER"))
    SystemLog.notice(line.text)
  }

  private static func warn(_ accounts: UInt64) {
    var line = LogLine("passcode-verifier: wrong passcodes for many accounts within an hour")
    line.add("accounts", accounts)
    SystemLog.notice(line.text)
  }

  // MARK: The server

  /// Makes the fleet key, and the folder of what this server keeps. Where etcd has passcodes, the fleet has a key already.
  private static func initialize(_ configuration: Configuration, _ sodium: Sodium) throws(Failure) {
    guard let service = serviceAccount() else { throw .noServiceAccount }
    if (try? FileStatus.of(FleetKey.usualPath)) == nil, FleetServer.isInUse(configuration) == true {
      throw .fault(Fault(.keyNeeded, path: FleetKey.usualPath))
    }
    do throws(Errno) {
      if (try? FileStatus.of(FleetServer.statePath)) == nil {
        try makeDirectory(FleetServer.statePath, mode: 0o700)
        try Descriptor.open(FleetServer.statePath, .directory).setOwner(service.uid, group: service.gid)
      }
    } catch {
      throw .fault(Fault(.failed, path: FleetServer.statePath, error: error.code))
    }
    try reporting { () throws(Fault) in
      try FleetKey.create(FleetKey.usualPath, group: service.gid, sodium)
    }
  }

  /// Raises the epoch, then forgets how far etcd had come: from here on each passcode must be unlocked, and the other
  /// servers refuse everything until this command was run there, too. Each step may be repeated.
  private static func declareRestored(_ vault: Vault) throws(Fault) {
    let configuration = vault.configuration
    try FleetKey(FleetKey.usualPath, configuration).raiseEpoch()
    try SeenFile(SeenFile.usualPath, for: configuration.access, .allowed).forget()
    let epoch = try FleetServer.open(vault, .allowed) {}.declareEpoch()
    let key = try FleetKey(FleetKey.usualPath, configuration)
    if epoch > key.epoch { try key.raiseEpoch(to: epoch) }
  }
}
