public import PasscodePolicy

/// What the servers of a fleet have in common: `/etc/passcode/verifier.conf`, one `name=value` a line.
///
///     fleet=ward-7                     the fleet's name: 1 to 64 letters, digits and -_.
///     etcd=2379                        the port of this server's etcd, on 127.0.0.1
///     etcd_user=passcode               one of etcd's own accounts; its password is in /etc/passcode/verifier.password
///     lockout=3:1m,5:5m,7:15m,9:1h,10:8h
///     workstation_limit=20             wrong passcodes an hour on each workstation: 10 to 50 (`StationCount`)
///     alarm_accounts=50                how many accounts with wrong passcodes in an hour give an alarm: 1 to 1,000,000
///
/// Cost, lengths, weakness and hashing slots are those of `/etc/security/passcode.conf` on the server.
///
/// - The schedule MUST end with a time, never with `reset`: people at a few workstations could otherwise keep an owner
///   out until an administrator comes.                                                           FleetTests
/// - What isn't known, or is given twice, is an error.
public struct FleetOptions: Equatable, Sendable {
  public var name = Bytes()
  public var port: UInt16 = 2379
  /// Empty: etcd asks for none.
  public var user = Bytes()
  public var lockout = Schedule.fleet
  /// Wrong passcodes an hour from one workstation, over all accounts.
  public var stationLimit: UInt64 = FleetOptions.usualStationLimit
  /// Wrong passcodes an hour for strangers (`StationOwners`): a part of `stationLimit`.
  public var strangersLimit: UInt64 { stationLimit * 3 / 5 }
  /// How many accounts with a wrong passcode within an hour, and no correct one since, give an alarm.
  public var alarmAccounts: UInt64 = 50

  private static let usualStationLimit: UInt64 = 20
  private static var names: Literal { "fleet etcd etcd_user lockout workstation_limit alarm_accounts" }

  public init(name: Bytes) {
    self.name = name
  }

  /// - Parameter path: for errors only.
  public init(file: ArraySlice<UInt8>, path: Bytes) throws(Fault) {
    var seen = 0
    var number: UInt64 = 0
    for text in file.parts(between: UInt8(ascii: "\n")) {
      number += 1
      let line = text.trimmed()
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      let equals = line.firstIndex(of: UInt8(ascii: "=")) ?? line.endIndex
      let name = line[..<equals].trimmed()
      let shown = Bytes(name.prefix { $0 >= 0x61 && $0 <= 0x7a || $0 == UInt8(ascii: "_") })
      guard let option = PasscodeBytes.number(of: name, among: FleetOptions.names) else {
        throw Fault(.unknownOption, path: path, name: shown, number: number)
      }
      guard seen & 1 << option == 0 else {
        throw Fault(.optionTwice, path: path, name: shown, number: number)
      }
      seen |= 1 << option
      guard equals < line.endIndex, set(option, line[(equals + 1)...].trimmed()) else {
        throw Fault(.badValue, path: path, name: shown, number: number)
      }
    }
    guard !name.isEmpty else {
      throw Fault(.badValue, path: path, name: Bytes(text: "fleet"), number: number)
    }
  }

  /// What must be the same on all servers, in a form that doesn't depend on how it was written.
  public var shared: Bytes {
    var bytes = name + [0] + user + [0]
    for step in lockout.steps {
      bytes += littleEndian(UInt64(step.failures), 8)
      if case .seconds(let seconds) = step.delay {
        bytes += littleEndian(seconds, 8)
      } else {
        bytes += littleEndian(0, 8)
      }
    }
    // Earlier versions know only the default, and leave it out.
    if stationLimit != FleetOptions.usualStationLimit { bytes += littleEndian(stationLimit, 8) }
    return bytes
  }

  /// - Parameter option: its place among the `names`.
  private mutating func set(_ option: Int, _ value: ArraySlice<UInt8>) -> Bool {
    switch option {
    case 0:
      guard FleetOptions.isName(value) else { return false }
      name = Bytes(value)
    case 1:
      guard let number = decimal(value), (1...65_535).contains(number) else { return false }
      port = UInt16(number)
    case 2:
      guard FleetOptions.isName(value) else { return false }
      user = Bytes(value)
    case 4:
      guard let number = decimal(value), (10...StationCount.most).contains(number) else { return false }
      stationLimit = number
    case 5:
      guard let number = decimal(value), (1...1_000_000).contains(number) else { return false }
      alarmAccounts = number
    default:
      guard let schedule = Schedule(value), schedule.endsWithTime else { return false }
      lockout = schedule
    }
    return true
  }

  private static func isName(_ value: ArraySlice<UInt8>) -> Bool {
    (1...64).contains(value.count) && value.allSatisfy { isWordByte($0, or: "-_.") }
  }
}

extension Schedule {
  /// Whether the schedule has no step `reset`, which only an unlock would end.
  var endsWithTime: Bool {
    for step in steps where step.delay == .reset { return false }
    return true
  }

  /// Whether it allows more than 10 guesses a day, averaged over the first 10 days.
  public var isWeak: Bool {
    var (failures, seconds): (UInt32, UInt64) = (0, 0)
    while seconds < 10 * 86_400 {
      failures += 1
      if failures > 100 { return true }
      switch delay(after: failures) {
      case .none: break
      case .seconds(let delay): seconds += delay
      case .reset: return false
      }
    }
    return false
  }
}
