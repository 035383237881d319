internal import PasscodeAdmin
internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodePrograms
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode server metrics`: what the verifiers of this server have counted, and the current state of it and its etcd, in
/// Prometheus' text format. passcode-verifier-check adds the certificates' dates, and a timer writes it all to a file.
///
/// - No metric or label MUST name an account or a workstation: those who read the numbers may not read the list.
/// - What can't be asked is left out. `passcode_server_ready` is then 0.
///                                                                                                 test_metrics.py
struct Metrics {
  private var text = MetricsText()

  static func run() throws(Failure) -> ExitStatus {
    guard ProcessIdentity.current().effective == 0 else { throw .onlyRoot }
    guard let sodium = Sodium() else { throw .noLibrary }
    let configuration = try reporting { () throws(Fault) in
      try Configuration.load(ModuleLine(configuration: nil), ProcessIdentity.current())
    }
    let vault = Vault(configuration, sodium) { _ in }
    var metrics = Metrics()
    metrics.tell(CountFile.read(configuration.access))
    metrics.tellSlots(vault)
    metrics.tellFleet(vault)
    guard Stream.output.write(metrics.text.bytes) else { throw .unwritable }
    return .done
  }

  // MARK: What was counted

  private mutating func tell(_ counts: ServerCounts) {
    text.begin("passcode_server_replies_total", .counter, "Replies to workstations.")
    for operation in ServerCounts.Operation.allCases {
      for verdict in ServerCounts.Verdict.allCases where verdict.isPossible(operation) {
        text.add(
          "operation=\"\(operation.name)\",verdict=\"\(verdict.name)\"", counts.replies(operation, verdict))
      }
    }
    text.begin("passcode_server_unavailable_total", .counter, "Replies that decided nothing, by cause.")
    for cause in ServerCounts.Cause.allCases {
      text.add("cause=\"\(cause.name)\"", counts.unavailable(cause))
    }
    text.begin("passcode_server_reply_duration_seconds", .histogram, "Time from a request to its reply.")
    for operation in ServerCounts.Operation.allCases { tellDurations(counts, operation) }
  }

  private mutating func tellDurations(_ counts: ServerCounts, _ operation: ServerCounts.Operation) {
    let label: Text = "operation=\"\(operation.name)\""
    var sum: UInt64 = 0
    for place in ServerCounts.limits.indices {
      sum += counts.duration(operation, place)
      text.add("\(label),le=\"\(seconds(ServerCounts.limits[place]))\"", sum, "_bucket")
    }
    sum += counts.duration(operation, ServerCounts.limits.count)
    text.add("\(label),le=\"+Inf\"", sum, "_bucket")
    text.add(label, seconds(counts.milliseconds(operation)), "_sum")
    text.add(label, sum, "_count")
  }

  // MARK: What is now

  private mutating func tellSlots(_ vault: Vault) {
    let most = vault.hashingSlots
    text.gauge("passcode_server_hashing_slots", "Checks at once, without overflow slots.", UInt64(most))
    text.gauge(
      "passcode_server_hashing_slots_taken", "Checks now, overflow slots included.",
      UInt64(takenSlots(vault)))
  }

  private func takenSlots(_ vault: Vault) -> Int {
    guard let store = try? Store.open(vault.configuration),
      let file = try? store.directory.open(HashingSlots.name, .readWrite)
    else { return 0 }
    return (0..<2 * HashingSlots.firstOverflow).count { !ByteLock.isFree(file, at: $0) }
  }

  private mutating func tellFleet(_ vault: Vault) {
    var isReady: UInt64 = 0
    defer { text.gauge("passcode_server_ready", "Whether this server can answer workstations.", isReady) }
    do throws(Fault) {
      let fleet = try FleetServer.open(vault) {}
      tellEtcd(fleet)
      try fleet.checkEpoch()
      try tellCounts(fleet, vault.configuration)
      isReady = 1
    } catch {}
  }

  private mutating func tellEtcd(_ fleet: FleetVault<EtcdClient>) {
    let health = fleet.etcd.health()
    text.gauge("passcode_etcd_up", "Whether this server's etcd answers.", health == nil ? 0 : 1)
    guard let health else { return }
    text.gauge(
      "passcode_etcd_has_leader", "Whether this server's etcd knows a leader.", health.hasLeader ? 1 : 0)
    text.gauge(
      "passcode_etcd_alarms", "Alarms and errors of this server's etcd.", UInt64(health.complaints.count))
    text.gauge("passcode_etcd_database_bytes", "Size of etcd's database.", health.size)
    text.gauge("passcode_etcd_quota_bytes", "Largest size of etcd's database.", EtcdHealth.quota)
    text.gauge(
      "passcode_etcd_committed_index", "Last committed entry that this member knows of.", health.committed)
    text.gauge("passcode_etcd_applied_index", "Last entry that this member has carried out.", health.applied)
    text.gauge("passcode_etcd_term", "Grows with each change of etcd's leader.", health.term)
  }

  private mutating func tellCounts(
    _ fleet: FleetVault<EtcdClient>, _ configuration: Configuration
  ) throws(Fault) {
    let names = try FleetServer.workstations(configuration)
    let blocked = try fleet.blockedStations(names)
    text.gauge("passcode_fleet_workstations", "Workstations on the list.", UInt64(names.count))
    text.begin("passcode_fleet_workstations_blocked", .gauge, "Workstations with too many wrong passcodes.")
    text.add("for=\"everyone\"", blocked.stopped)
    text.add("for=\"strangers\"", blocked.forOwners)
    text.gauge(
      "passcode_fleet_accounts_with_wrong_passcodes",
      "Accounts with a wrong passcode and no correct one since.",
      try fleet.accountsWithWrong())
  }
}

/// Prometheus' text format: each metric's help and type, then its values.
private struct MetricsText {
  enum Kind {
    case counter, gauge, histogram
  }

  private var text: Text = ""
  private var name: Text = ""
  var bytes: Bytes { text.bytes }

  mutating func begin(_ name: Text, _ kind: Kind, _ help: Text) {
    self.name = name
    let type: Text =
      switch kind {
      case .counter: "counter"
      case .gauge: "gauge"
      case .histogram: "histogram"
      }
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  mutating func add(_ labels: Text, _ value: UInt64, _ suffix: Text = "") { add(labels, "\(value)", suffix) }

  mutating func add(_ labels: Text, _ value: Text, _ suffix: Text = "") {
    text += "\(name)\(suffix){\(labels)} \(value)\n"
  }

  /// A gauge without labels.
  mutating func gauge(_ name: Text, _ help: Text, _ value: UInt64) {
    begin(name, .gauge, help)
    text += "\(name) \(value)\n"
  }
}

/// Milliseconds as seconds: 2.5, without zeros at the end.
private func seconds(_ milliseconds: UInt64) -> Text {
  let thousandths = milliseconds % 1_000
  guard thousandths > 0 else { return "\(milliseconds / 1_000)" }
  var digits = decimalDigits(1_000 + thousandths).dropFirst()
  while digits.last == UInt8(ascii: "0") { digits.removeLast() }
  return "\(milliseconds / 1_000).\(Bytes(digits))"
}

// MARK: Labels: no other than these

extension ServerCounts.Operation {
  fileprivate var name: Text {
    switch self {
    case .look: "look"
    case .login: "login"
    case .proof: "proof"
    case .change: "change"
    case .code: "code"
    }
  }
}

extension ServerCounts.Verdict {
  fileprivate var name: Text {
    switch self {
    case .open: "open"
    case .granted: "granted"
    case .wrong: "wrong"
    case .locked: "locked"
    case .exhausted: "exhausted"
    case .disabled: "disabled"
    case .notEnrolled: "not_enrolled"
    case .notPermitted: "not_permitted"
    case .workstationLocked: "workstation_locked"
    case .noCode: "no_code"
    case .refused: "refused"
    case .unavailable: "unavailable"
    }
  }

  /// Whether a reply to the operation can have this verdict.
  fileprivate func isPossible(_ operation: ServerCounts.Operation) -> Bool {
    switch self {
    case .open: operation == .look
    case .granted, .wrong: operation != .look
    case .noCode: operation == .code
    case .refused: operation == .change || operation == .code
    case .locked, .exhausted, .disabled, .notEnrolled, .notPermitted, .workstationLocked, .unavailable: true
    }
  }
}

extension ServerCounts.Cause {
  fileprivate var name: Text {
    switch self {
    case .etcd: "etcd"
    case .etcdRestored: "etcd_restored"
    case .fleetKey: "fleet_key"
    case .notListed: "not_listed"
    case .tooManyRequests: "too_many_requests"
    case .hashingSlots: "hashing_slots"
    case .memory: "memory"
    case .other: "other"
    }
  }
}
