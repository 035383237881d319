internal import PasscodeFleet
internal import PasscodeFleetPolicy
internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool
internal import PasscodeVault

/// `passcode-verifier check`: what is wrong on this server, and what to do about it. `passcode check` shows it, by way of
/// passcode-verifier-check, which adds what openssl and systemctl know. It changes nothing.
///
/// - Each finding is a line in the form of `passcode check`, for people or in JSON.                 test_fleet_check.py
/// - The exit status is 1 where there was an error, otherwise 0.
struct ServerCheck {
  private var report: CheckReport

  static func run(_ order: Order) throws(Failure) -> ExitStatus {
    guard ProcessIdentity.current().effective == 0 else { throw .onlyRoot }
    guard let sodium = Sodium() else { throw .noLibrary }
    var check = ServerCheck(report: CheckReport(order))
    do throws(Fault) {
      let configuration = try Configuration.load(ModuleLine(configuration: nil), ProcessIdentity.current())
      let vault = Vault(configuration, sodium) { _ in }
      let fleet = try FleetServer.open(vault) {}
      check.configuration(configuration, fleet)
      try check.etcd(fleet)
      try check.servers(fleet)
      try check.alarm(fleet)
    } catch {
      check.report.tell(.error, Failure.told(error), path: error.path)
    }
    return check.report.hasErrors ? .wrong : .done
  }

  private mutating func configuration(_ configuration: Configuration, _ fleet: FleetVault<EtcdClient>) {
    report.begin("verifier-configuration")
    if fleet.isWeak {
      report.tell(
        .warning,
        "\(FleetServer.optionsPath): lockout allows more than 10 guesses a day for each account: use longer delays",
        path: FleetServer.optionsPath)
    }
    do throws(Fault) {
      if try FleetServer.workstations(configuration).isEmpty {
        report.tell(
          .warning, "\(FleetServer.workstationsPath): lists no workstations, so no requests are answered",
          path: FleetServer.workstationsPath)
      }
    } catch {
      report.tell(.error, Failure.told(error), path: error.path)
    }
    report.end()
  }

  private mutating func etcd(_ fleet: FleetVault<EtcdClient>) throws(Fault) {
    report.begin("verifier-etcd")
    let answersAnyone = fleet.etcd.answersAnyone() == true
    if answersAnyone && fleet.namesUser {
      return report.tell(
        .error, "etcd's accounts are off: any program that reaches its port can change everything",
        command: "etcdctl auth enable" as Text)
    }
    if answersAnyone {
      report.tell(
        .warning,
        "etcd has no accounts: any program that reaches its port can change everything; set etcd_user")
    }
    guard let health = fleet.etcd.health() else {
      return report.tell(
        .error,
        "etcd gives no valid answer: it is down, too few of its members are running, or it refuses the password in \(FleetServer.passwordPath); see journalctl -u etcd"
      )
    }
    if !health.hasLeader {
      report.tell(
        .error, "etcd has no leader: too few members can reach each other; start those that are down")
    }
    for complaint in health.complaints {
      report.tell(
        .error,
        "etcd complains: \(printable(complaint)); see chapter 9 in README.Debian of passcode-verifier")
    }
    let quota = EtcdHealth.quota
    let used = quota > 0 ? health.size / (quota / 100 + 1) : 100
    if used >= 75 {
      report.tell(
        .warning,
        "etcd's database uses \(health.size >> 20) of \(quota >> 20) MiB: turn on auto-compaction, then defragment it",
        command: fleet.namesUser ? "etcdctl --user root defrag" as Text : "etcdctl defrag" as Text)
    }
    try fleet.checkEpoch()
    report.end("\(health.size >> 10) KiB")
  }

  private mutating func servers(_ fleet: FleetVault<EtcdClient>) throws(Fault) {
    report.begin("verifier-servers")
    let members = fleet.etcd.members() ?? []
    let peers = try fleet.peers()
    if members.isEmpty { report.tell(.error, "etcd doesn't list its members: see journalctl -u etcd") }
    if members.count == 1 || members.count % 2 == 0, !members.isEmpty {
      report.tell(
        .warning,
        "etcd has \(members.count) members: use three or five, so that the fleet survives the loss of a server"
      )
    }
    if peers.count < members.count {
      report.tell(
        .error,
        "etcd has \(members.count) members (\(names(members))), but only these servers reported in the last 10 minutes: \(names(peers.map { $0.name })); check passcode-verifier-seen.timer on the others"
      )
    }
    if peers.count > members.count, !members.isEmpty {
      report.tell(
        .error,
        "etcd has \(members.count) members (\(names(members))), but more servers reported in the last 10 minutes: \(names(peers.map { $0.name })). If --force-new-cluster was used, its data may be old and refund wrong passcodes: stop stunnel on all servers, and do chapter 6 of README.Debian",
        command: "passcode server restored" as Text)
    }
    guard let own = fleet.ownNote() else { throw Fault(.missing, path: FleetKey.usualPath) }
    for peer in peers { compare(peer, own) }
    report.end(names(peers.map { $0.name }))
  }

  private mutating func alarm(_ fleet: FleetVault<EtcdClient>) throws(Fault) {
    report.begin("verifier-alarm")
    let count = try fleet.accountsWithWrong()
    if fleet.isAlarming(count) { report.tell(.warning, Words.alarm(count)) }
    report.end("\(count)")
  }

  private mutating func compare(_ peer: FleetPeer, _ own: ServerNote) {
    let name = printable(peer.name)
    if peer.note.mark != own.mark {
      report.tell(
        .error,
        "\(name): has a different fleet key or verifier.conf (fleet=, etcd_user=, lockout= or workstation_limit=) than this server, or a different list of workstations: copy all three files from one server"
      )
    }
    if peer.note.version != own.version {
      report.tell(
        .warning,
        "\(name): has version \(peer.note.version), this server has \(own.version): install the same version on all servers"
      )
    }
    let (ahead, behind) = (peer.note.time, own.time)
    if ahead > behind, ahead - behind > 5 {
      report.tell(
        .warning, "\(name): its clock is \(ahead - behind) s ahead of this server's: synchronize both clocks")
    } else if behind > ahead, behind - ahead > 130 {
      report.tell(
        .warning,
        "\(name): last reported \(behind - ahead) s ago by its own clock: the clock is slow, or its passcode-verifier-seen.timer is not running"
      )
    }
  }

  private func names(_ names: [Bytes]) -> Text {
    var text: Text = ""
    for index in names.indices {
      if index > 0 { text += ", " }
      text += Text("\(names[index].isEmpty ? Bytes(text: "?") : printable(names[index]))")
    }
    return names.isEmpty ? "none" : text
  }
}

extension EtcdHealth {
  /// Bytes that this server's database may have.
  static var quota: UInt64 {
    let file = try? Descriptor.open(Bytes(text: "/etc/default/etcd"), .readLinked)
    return quota(settings: (try? file?.read(65_536, at: 0)) ?? [])
  }
}
