import Testing

@testable import PasscodeFleetPolicy
@testable import PasscodePolicy

private let codec = RecordCodec(
  checksum: { testChecksum($0) }, isZero: { bytes in bytes.allSatisfy { $0 == 0 } })

struct FleetKeysTests {
  @Test func `no account's name leads to another account's key`() {
    let names = [
      "alice", "alice/wait", "alice/", "a", "", "616c696365", "ALICE", "alice\u{0}", "../x", "élise",
    ]
    var keys: Set<Bytes> = []
    for name in names.map({ Bytes(text: $0) }) {
      let own = [
        FleetKeys.record(name), FleetKeys.wait(name), FleetKeys.busy(name), FleetKeys.last(name),
        FleetKeys.station(name), FleetKeys.flight(name, name), FleetKeys.flights(name),
        FleetKeys.station(name, account: name),
      ]
      for key in own { #expect(keys.insert(key).inserted || name.isEmpty) }
      #expect(FleetKeys.account(FleetKeys.record(name)) == name)
      for key in own.dropFirst() { #expect(FleetKeys.account(key) == nil) }
    }
    #expect(text(FleetKeys.wait(Bytes(text: "al"))) == "/passcode/1/u/616c/wait")
  }
}

struct FleetRecordTests {
  private func sample() -> FleetRecord {
    var record = Record(uid: FleetRecord.uid, name: Bytes(text: "alice"), generation: 1)
    record.state = .enrolled(sealed: Bytes(repeating: 0xa5, count: 101))
    record.ledger = Ledger(failures: 2, lastFailure: .never, served: false)
    record.attemptID = Bytes(repeating: 7, count: 16)
    return FleetRecord(record, epoch: 3)
  }

  private func read(_ value: Bytes, _ account: String = "alice") -> FleetRecord? {
    FleetRecord(value, account: Bytes(text: account), codec)
  }

  @Test func `what is written is read again, for its account only`() {
    let value = sample().encoded(codec)
    #expect(read(value) == sample())
    #expect(value.count < 1_000)
    #expect(read(value, "alicf") == nil)
  }

  @Test func `a changed, missing or further byte makes it invalid`() {
    let value = sample().encoded(codec)
    for index in value.indices {
      var changed = value
      changed[index] ^= 1
      // The epoch isn't under the checksum: another digit there is another epoch, and still one spelling.
      if let found = read(changed) { #expect(found.epoch != 3 && found.record == sample().record) }
      #expect(read(Bytes(value[..<index])) == nil)
    }
    #expect(read(value + [0]) == nil)
    #expect(read(value + [10]) == nil)
    #expect(read(Bytes(text: "passcode_fleet=1\nepoch=03\n") + value.dropFirst(25)) == nil)
  }

  @Test func `what only a machine's own store may hold is refused`() {
    func with(_ change: (inout Record) -> Void) -> FleetRecord? {
      var other = sample()
      change(&other.record)
      return read(other.encoded(codec))
    }
    #expect(with { $0.generation = 2 } == nil)
    #expect(with { $0.ledger = Ledger(failures: 1, lastFailure: now(5), served: false) } == nil)
    #expect(with { $0.ledger = Ledger(failures: 1, lastFailure: .never, served: true) } == nil)
    #expect(with { $0.terms.change = .needed } == nil)
    let local = Record(uid: 1000, name: Bytes(text: "alice"), generation: 1)
    #expect(read(FleetRecord(local, epoch: 1).encoded(codec)) == nil)
  }
}

struct StationCountTests {
  @Test func `a count is read again, and nothing else is`() {
    let window = Bytes(repeating: 0xab, count: 16)
    for failures in 1...StationCount.most {
      let count = StationCount(failures: failures, window: window)
      #expect(StationCount(count.encoded) == count)
    }
    for failures in ["0", "51", "-1", "x", ""] {
      #expect(
        StationCount(Text("failures=\(Bytes(text: failures))\nwindow=\(hexadecimal(window))\n").bytes) == nil)
    }
    let value = StationCount(failures: 7, window: window).encoded
    for length in value.indices { #expect(StationCount(Bytes(value[..<length])) == nil) }
    #expect(StationCount(value + [10]) == nil)
  }
}

struct FleetOptionsTests {
  private func options(_ file: String) throws -> FleetOptions {
    try FleetOptions(file: slice(file), path: Bytes(text: "/f"))
  }

  @Test func `each option is taken, and the fleet must have a name`() throws {
    let all = try options(
      "# x\nfleet = ward-7\n\netcd=22379\netcd_user=passcode\nlockout=1:1s,2:1d\nworkstation_limit=50\nalarm_accounts=7\n"
    )
    #expect(text(all.name) == "ward-7" && all.port == 22_379 && text(all.user) == "passcode")
    #expect(all.lockout == Schedule(slice("1:1s,2:1d")))
    #expect(all.stationLimit == 50 && all.strangersLimit == 30 && all.alarmAccounts == 7)
    let usual = try options("fleet=a")
    #expect(usual.stationLimit == 20 && usual.strangersLimit == 12)
    #expect(try options("fleet=a") == FleetOptions(name: Bytes(text: "a")))
    #expect(throws: Fault.self) { try options("etcd=2379") }
  }

  @Test(arguments: [
    "lockout=3:1m,10:reset", "etcd=0", "etcd=65536", "etcd=127.0.0.1", "fleet=b", "fleet=", "fleet", "x=1",
    "etcd_user=a b", "etcd_user=\"", "lockout=", "workstation_limit=9", "workstation_limit=51",
    "workstation_limit=", "alarm_accounts=0", "alarm_accounts=1000001",
  ])
  func `what doesn't fit is an error`(line: String) {
    #expect(throws: Fault.self) { try options("fleet=a\n\(line)") }
  }

  @Test(arguments: [
    ("3:1m,5:5m,7:15m,9:1h,10:8h", false), ("10:3h", false), ("3:1m", true), ("9:1h", true),
    ("1000:8h", true),
    ("1:2h", true), ("1:1d", false),
  ])
  func `a schedule that allows more than 10 guesses a day is weak`(text: String, isWeak: Bool) throws {
    #expect(try #require(Schedule(slice(text))).isWeak == isWeak)
  }

  @Test func `servers have the same in common only if name, account, schedule and limit are the same`() throws
  {
    let one = try options("fleet=b\netcd_user=c\nlockout=3:1m\n")
    #expect(
      try one.shared
        == options("fleet=b\netcd_user=c\nlockout=3:60s\netcd=9\nworkstation_limit=20\nalarm_accounts=9\n")
        .shared)
    for other in [
      "fleet=a\netcd_user=c\nlockout=3:1m", "fleet=b\nlockout=3:1m", "fleet=b\netcd_user=c\nlockout=3:2m",
      "fleet=b\netcd_user=c\nlockout=3:1m\nworkstation_limit=21",
    ] {
      #expect(try one.shared != options(other).shared, "\(other)")
    }
  }

  /// Four workstations with three wrong codes each must not keep an owner out until an administrator comes.
  @Test func `the schedule of a fleet ends with a time`() {
    #expect(Schedule.fleet == Schedule(slice("3:1m,5:5m,7:15m,9:1h,10:8h")))
    #expect(Schedule.fleet.endsWithTime && !Schedule.standard.endsWithTime)
    for failures in 1...200 as ClosedRange<UInt32> {
      #expect(Schedule.fleet.delay(after: failures) != .reset)
    }
  }
}

struct FleetUsersTests {
  private func policy(_ file: String) throws -> Options.Policy {
    var parser = OptionParser()
    try parser.take(file: slice(file), path: Bytes(text: "/f"))
    return parser.options.policy
  }

  @Test func `without a verifier nobody is the fleet's`() throws {
    let policy = try policy("verifier_uids=1-")
    #expect(![0, 1, 1_000, 65_534, .max].contains { policy.asksVerifier($0) })
  }

  @Test func `neither root nor nobody is ever the fleet's`() throws {
    let all = try policy("verifier=/run/v.sock\nverifier_uids=1-")
    #expect(([1, 65_533, 65_535, .max - 1] as [UInt32]).allSatisfy { all.asksVerifier($0) })
    #expect(!([0, 65_534, .max] as [UInt32]).contains { all.asksVerifier($0) })
    let people = try policy("verifier=/run/v.sock")
    #expect(!([0, 1, 999, 65_534, .max] as [UInt32]).contains { people.asksVerifier($0) })
    #expect(([1_000, 59_999, 65_535, 70_000, .max - 1] as [UInt32]).allSatisfy { people.asksVerifier($0) })
  }

  @Test(
    arguments: [
      ("1000", [1_000], [999, 1_001]), ("1000-1002", [1_000, 1_001, 1_002], [999, 1_003]),
      ("5-5,7,9-", [5, 7, 9, 70_000], [4, 6, 8]), ("20-30,10-25", [10, 19, 20, 30], [9, 31]),
    ] as [(String, [UInt32], [UInt32])])
  func `a user is the fleet's if one of the ranges has the uid`(
    ranges: String, inside: [UInt32], outside: [UInt32]
  ) throws {
    let policy = try policy("verifier=/run/v.sock\nverifier_uids=\(ranges)")
    #expect(inside.allSatisfy { policy.asksVerifier($0) })
    #expect(!outside.contains { policy.asksVerifier($0) })
  }

  @Test func `there is room for so many ranges, and for so long a path`() {
    let ranges = (1...17).map { "\($0)" }
    #expect(UserRanges(slice(ranges.prefix(16).joined(separator: ","))) != nil)
    #expect(UserRanges(slice(ranges.joined(separator: ","))) == nil)
    let path = "/" + String(repeating: "x", count: 106)
    #expect((try? policy("verifier=\(path)"))?.verifier.count == 107)
    #expect(throws: Fault.self) { try policy("verifier=\(path)x") }
  }
}

struct FleetSeenTests {
  private let seen = FleetSeen(EtcdOrigin(cluster: 9, revision: 100, term: 4))

  @Test func `time goes on, and never back`() {
    #expect(seen.next(EtcdOrigin(cluster: 9, revision: 100, term: 4)) == seen)
    #expect(seen.next(EtcdOrigin(cluster: 9, revision: 101, term: 5))?.origin.revision == 101)
    #expect(seen.next(EtcdOrigin(cluster: 9, revision: 99, term: 4)) == nil, "restored from a snapshot")
    #expect(seen.next(EtcdOrigin(cluster: 9, revision: 120, term: 2)) == nil, "restored, and used since")
    #expect(seen.next(EtcdOrigin(cluster: 8, revision: 101, term: 5)) == nil, "another cluster")
  }

  @Test func `one that was behind is refused for good`() {
    #expect(seen.isBehind(EtcdOrigin(cluster: 9, revision: 99, term: 9)))
    let refusing = seen.refusingAll
    #expect(FleetSeen(refusing.encoded) == refusing && refusing.refusesAll && !seen.refusesAll)
    #expect(refusing.next(EtcdOrigin(cluster: 9, revision: 1 << 63 - 1, term: 9)) == nil)
    #expect(!seen.isBehind(EtcdOrigin(cluster: 8, revision: 99, term: 4)), "it never catches up")
    #expect(!seen.isBehind(EtcdOrigin(cluster: 9, revision: 100, term: 3)))
  }

  @Test func `it is read as it was written`() {
    #expect(FleetSeen(seen.encoded) == seen)
    #expect(FleetSeen(Bytes(seen.encoded.dropLast())) == nil)
    #expect(FleetSeen(seen.encoded + [0]) == nil)
    #expect(FleetSeen(text: Bytes(text: "9:100:4")) == seen)
    for text in [
      "", "9:100", "9:100:4:1", "9::4", "0:100:4", "9:0:4", "9:100:0", "9:100:-4", "9:0100:4",
      "9:9223372036854775808:4",
    ] {
      #expect(FleetSeen(text: Bytes(text: text)) == nil, "\(text)")
    }
  }

  @Test func `what others have seen only raises it`() {
    func raised(_ cluster: UInt64, _ revision: UInt64, _ term: UInt64) -> FleetSeen? {
      seen.raised(to: FleetSeen(EtcdOrigin(cluster: cluster, revision: revision, term: term)))
    }
    #expect(raised(9, 1, 1) == seen && raised(8, 200, 9) == nil)
    #expect(raised(9, 200, 1) == FleetSeen(EtcdOrigin(cluster: 9, revision: 200, term: 4)))
    #expect(raised(9, 1, 9) == FleetSeen(EtcdOrigin(cluster: 9, revision: 100, term: 9)))
    #expect(seen.refusingAll.raised(to: seen)?.refusesAll == true)
  }
}

struct FleetMessageTests {
  private func request(_ operation: HelperOperation, uid: UInt32 = FleetRecord.uid, password: Int = 0)
    -> HelperRequest
  {
    let row = operation.row
    return HelperRequest(
      operation, uid: uid,
      lengths: HelperRequest.Lengths(
        passcode: row.proof == .none || password > 0 ? 0 : row.proof == .code ? 8 : 4,
        new: row.setsPasscode ? 6 : 0,
        password: password))
  }

  @Test func `what a password would prove is not for a verifier`() {
    for operation in HelperOperation.allCases {
      let isAllowed = [.look, .verify, .prove, .status, .change, .enrollByCode].contains(operation)
      #expect(FleetRequest.allows(request(operation)) == isAllowed)
      #expect(!FleetRequest.allows(request(operation, uid: 1000)))
      #expect(!FleetRequest.allows(request(operation, password: 8)))
    }
  }

  @Test func `a reply is whole with its end, after any signs of work`() {
    let replies = [
      HelperReply(.wrong, [4, 4]), HelperReply(.granted, [0, 4 << 56], text: Bytes(text: "sudo")),
      HelperReply(.openWaiting),
      HelperReply(verdict: .locked(milliseconds: 60_000, failures: 3)),
    ]
    for reply in replies {
      let whole = Bytes(repeating: 0, count: 7) + FleetReply.encoded(reply)
      #expect(FleetReply.decoded(whole) == reply)
      for length in whole.indices { #expect(FleetReply.decoded(Bytes(whole[..<length])) == nil) }
      #expect(FleetReply.decoded(whole + [4]) == nil)
      #expect(FleetReply.decoded(whole + whole) == nil)
      #expect(FleetReply.decoded([9] + whole) == nil)
    }
  }

  @Test func `only an unavailable says that nothing is charged`() {
    let fault = HelperReply(fault: Fault(.noEtcd, path: Bytes(text: "etcd")))
    let uncharged = FleetReply.encoded(fault, isUncharged: true)
    #expect(uncharged.last == 5 && FleetReply.decoded(uncharged) == fault)
    for signs in [0, 7] { #expect(FleetReply.isUncharged(Bytes(repeating: 0, count: signs) + uncharged)) }
    #expect(!FleetReply.isUncharged(FleetReply.encoded(fault)))
    for length in uncharged.indices { #expect(!FleetReply.isUncharged(Bytes(uncharged[..<length]))) }
    for other in [HelperReply(.granted), HelperReply(.wrong, [1, 2]), HelperReply(.openWaiting)] {
      #expect(FleetReply.encoded(other, isUncharged: true) == FleetReply.encoded(other))
      #expect(FleetReply.decoded(other.bytes + [5]) == nil && !FleetReply.isUncharged(other.bytes + [5]))
    }
  }

  @Test func `a name from a certificate is taken whole or not at all`() {
    let name = Bytes(text: "/CN=ws1")
    #expect(FleetRequest.relayHead(name) == [3, 7, 0] + name)
    #expect(FleetRequest.relayHead([]) == nil)
    #expect(FleetRequest.relayHead(Bytes(text: "/CN=a\n/CN=b")) == nil)
    #expect(FleetRequest.relayHead(Bytes(repeating: 0x41, count: 1_024)) != nil)
    #expect(FleetRequest.relayHead(Bytes(repeating: 0x41, count: 1_025)) == nil)
  }
}
