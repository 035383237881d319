import Foundation
import PasscodePolicy
import PasscodeSystem
import Testing

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// A fleet with one account, alice, whose passcode is `TestBed.right`, an etcd in memory, and clocks that the test moves.
final class FleetBed {
  static let alice = Bytes(text: "alice")
  /// Milliseconds after which nothing of a workstation's hour is left: its lease has a margin, and a minute in which it may
  /// have been a spare one.
  static let hour: UInt64 = 3_668_000

  let bed: TestBed
  let etcd: FakeEtcd
  var options = FleetOptions(name: Bytes(text: "ward"))
  private let sodium: Sodium
  /// How often Argon2 ran is not told by it; how often a charge was made is.
  var isSecondFactor = false
  /// What the last attempt said of its charges.
  private(set) var mayBeCharged = false

  init(enrolled: Bool = true) throws {
    let bed = try TestBed(enrolled: false)
    self.bed = bed
    etcd = FakeEtcd { bed.now }
    sodium = try #require(Sodium())
    // The store, for its hashing slots, and a key.
    try FleetKey.create(keyPath, group: nil, sodium)
    try fleet(start: .allowed).checkEpoch()
    if enrolled { try enroll() }
  }

  var keyPath: Bytes { Bytes(text: bed.folder.path + "/fleet.key") }

  /// As on each server; a server of its own has another file for what it saw.
  func fleet(
    server: String = "seen", vault: Vault? = nil, start: SeenFile.Start = .refused
  ) throws -> FleetVault<FakeEtcd> {
    let vault = vault ?? bed.vault
    return FleetVault(
      vault, options, try FleetKey(keyPath, vault.configuration), etcd,
      try SeenFile(Bytes(text: bed.folder.path + "/" + server), for: .person(0), start), spares(server))
  }

  func spares(_ server: String = "seen") -> SpareLeases {
    SpareLeases(path: Bytes(text: bed.folder.path + "/" + server + ".leases"), access: .person(getuid()))
  }

  func secrets(_ code: String) throws -> Secrets {
    guard var secrets = Secrets(sodium) else { throw POSIXError(.ENOMEM) }
    secrets.type(code)
    return secrets
  }

  func enroll(_ code: String = TestBed.right, _ account: Bytes = alice, by authority: Authority = .direct)
    throws
  {
    var secrets = try secrets(code)
    try secrets.enroll(account, fleet(), by: authority)
  }

  func attempt(
    _ code: String, _ account: Bytes = alice, at workstation: String = "ws1", vault: Vault? = nil
  ) throws -> Verdict {
    var secrets = try secrets(code)
    do {
      let fleet = try fleet(vault: vault)
      var login = FleetLogin(
        fleet, account: account, workstation: Bytes(text: workstation),
        service: Bytes(text: "sudo"), isSecondFactor: isSecondFactor)
      let verdict = secrets.attempt(&login)
      mayBeCharged = login.mayBeCharged
      fleet.keep(login.emptied)
      return verdict
    } catch let fault as Fault {
      return .unavailable(fault)
    }
  }

  func look(_ account: Bytes = alice) throws -> Verdict? {
    var secrets = try secrets(TestBed.right)
    var login = FleetLogin(
      try fleet(), account: account, workstation: Bytes(text: "ws1"), service: [],
      isSecondFactor: isSecondFactor)
    return login.look(&secrets.unsealed)
  }

  /// A look, and then an attempt by the same login.
  func attempt(_ code: String, afterLook meanwhile: () throws -> Void) throws -> Verdict {
    var secrets = try secrets(code)
    var login = FleetLogin(
      try fleet(), account: FleetBed.alice, workstation: Bytes(text: "ws1"), service: Bytes(text: "sudo"))
    guard login.look(&secrets.unsealed) == nil else { throw POSIXError(.EACCES) }
    try meanwhile()
    let verdict = secrets.attempt(&login)
    mayBeCharged = login.mayBeCharged
    return verdict
  }

  @discardableResult
  func fail(_ times: Int, from first: Int = 0, at workstation: String = "ws1") throws -> Verdict? {
    var verdict: Verdict?
    for index in first..<first + times { verdict = try attempt(TestBed.wrong[index], at: workstation) }
    return verdict
  }

  func listed() throws -> [Bytes] {
    var list = try FleetList(fleet())
    var names: [Bytes] = []
    while let report = try list.next() { names.append(report.account) }
    return names
  }

  func failures(_ account: Bytes = alice) throws -> UInt32 {
    try #require(try record(account)).record.ledger.failures
  }

  func record(_ account: Bytes = alice) throws -> FleetRecord? {
    guard let value = etcd.value(FleetKeys.record(account)) else { return nil }
    return FleetRecord(value, account: account, recordCodec)
  }

  func station(_ workstation: String = "ws1") -> UInt64 {
    etcd.value(FleetKeys.station(Bytes(text: workstation))).flatMap { StationCount($0)?.failures } ?? 0
  }

  func strangers(_ workstation: String = "ws1") -> UInt64 {
    etcd.value(FleetKeys.strangers(Bytes(text: workstation))).flatMap { StationCount($0)?.failures } ?? 0
  }

  func owners(_ workstation: String = "ws1") -> Bytes? {
    etcd.value(FleetKeys.owners(Bytes(text: workstation)))
  }

  /// More people with the same passcode, who were let in at this workstation.
  func people(_ count: Int, at workstation: String? = "ws1") throws -> [Bytes] {
    let names = (0..<count).map { Bytes(text: "person\($0)") }
    for name in names {
      try enroll(TestBed.right, name)
      if let workstation { _ = try attempt(TestBed.right, name, at: workstation) }
    }
    return names
  }

  // MARK: The fleet key's file

  func readKey() throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: String(decoding: keyPath, as: UTF8.self)))
  }

  func writeKey(_ key: Data) throws {
    let path = URL(fileURLWithPath: String(decoding: keyPath, as: UTF8.self))
    try FileManager.default.removeItem(at: path)
    try key.write(to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path.path)
  }

  /// As `passcode-verifier` does at one server.
  func raiseEpoch() throws {
    var key = try readKey()
    key[32] += 1
    try writeKey(key)
  }

  // MARK: Transactions

  /// What others do just before the next transaction of this kind is carried out.
  func meanwhile(_ step: FleetStep, _ act: @escaping () throws -> Void) {
    var isFirst = true
    let earlier = etcd.before
    etcd.before = { transaction in
      earlier(transaction)
      guard FleetStep(transaction) == step, isFirst else { return }
      isFirst = false
      #expect(throws: Never.self) { try act() }
    }
  }

  /// What is left is noted; half a minute later, etcd has another leader.
  func startLeasesAnew() throws {
    try fleet().keepLeases()
    bed.now += 30_000
    etcd.changeLeader()
  }

  /// The first of this kind that is sent gets no answer.
  func loseFirst(_ step: FleetStep, _ mishap: FakeEtcd.Mishap) {
    var isFirst = true
    let earlier = etcd.mishap
    etcd.mishap = { transaction in
      guard FleetStep(transaction) == step, isFirst else { return earlier(transaction) }
      isFirst = false
      return mishap
    }
  }

  /// Whether a transaction is a charge: it makes the record's failures more, and takes `busy`.
  static func isCharge(_ transaction: EtcdTransaction, _ account: Bytes = alice) -> Bool {
    transaction.actions.contains { if case .put(FleetKeys.busy(account), _, _) = $0 { true } else { false } }
  }

  static func isSettling(_ transaction: EtcdTransaction, _ account: Bytes = alice) -> Bool {
    transaction.actions.contains(.delete(FleetKeys.wait(account))) && !isCharge(transaction, account)
  }
}

// Swift 6.2.3 lends two parts at once of `self`, and not of a local variable.
extension Secrets {
  fileprivate mutating func type(_ code: String) {
    let typed = line.take(Bytes(text: code))
    let (first, second) = (passcode.take(line), change.new.passcode.take(line))
    #expect(typed == true && first == .passcode && second == .passcode)
  }

  fileprivate mutating func enroll(
    _ account: Bytes, _ fleet: FleetVault<FakeEtcd>, by authority: Authority
  ) throws {
    try fleet.enroll(account, change, &unsealed, by: authority)
  }

  mutating func attempt(_ login: inout FleetLogin<FakeEtcd>) -> Verdict {
    login.attempt(passcode, &unsealed)
  }
}
