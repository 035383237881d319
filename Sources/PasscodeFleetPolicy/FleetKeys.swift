public import PasscodePolicy

/// The names of a fleet's keys in etcd, version 1:
///
///     /passcode/1/u/<account>              the record: `FleetRecord`
///     /passcode/1/u/<account>/wait         a delay runs: the passcode is locked as long as this key is there. Has a lease
///     /passcode/1/u/<account>/busy         an attempt is under way: its id. Has a lease
///     /passcode/1/u/<account>/last         the digest of the last wrong passcode. Has a lease
///     /passcode/1/u/<account>/code         what is kept of a one-time code: `KeptCode`. Has a lease
///     /passcode/1/epoch                    the latest epoch, in decimal digits; it isn't there in the first one
///     /passcode/1/v/<host name>            what a server says about itself: `ServerNote`. Has a lease
///     /passcode/1/s/<workstation>          its wrong passcodes: `StationCount`. Has a lease
///     /passcode/1/s/<workstation>/a/<account>   those of one account there: `StationCount`. Has a lease
///     /passcode/1/s/<workstation>/n        those for strangers, who aren't in `o`: `StationCount`. Has a lease
///     /passcode/1/s/<workstation>/o        its owners: `StationOwners`
///     /passcode/1/s/<workstation>/f/<id>   an attempt from there is under way. Has a lease
///     /passcode/1/w/<account>              a wrong passcode within the hour, and no correct one since. Has a lease
///     /passcode/1/alarm                    an alarm was given within the hour (`FleetVault.alarm`). Has a lease
///     /passcode/1/l/<lease>                what was left of a lease: `LeaseNote`. Has that lease
///
/// Account, workstation and attempt id MUST be written in hexadecimal: an account named `alice/wait` is nobody's key.
///                                                                                                FleetTests
public enum FleetKeys {
  public static let epoch = Bytes(text: "/passcode/1/epoch")
  public static let accounts = Bytes(text: "/passcode/1/u/")

  public static func record(_ account: Bytes) -> Bytes { accounts + hexadecimal(account) }
  public static func wait(_ account: Bytes) -> Bytes { record(account) + Bytes(text: "/wait") }
  public static func busy(_ account: Bytes) -> Bytes { record(account) + Bytes(text: "/busy") }
  public static func last(_ account: Bytes) -> Bytes { record(account) + Bytes(text: "/last") }

  public static func code(_ account: Bytes) -> Bytes { record(account) + Bytes(text: "/code") }

  public static let allWrong = Bytes(text: "/passcode/1/w/")
  public static func wrong(_ account: Bytes) -> Bytes { allWrong + hexadecimal(account) }
  public static let alarm = Bytes(text: "/passcode/1/alarm")

  public static func left(_ lease: UInt64) -> Bytes { Text("/passcode/1/l/\(lease)").bytes }

  /// Whether a change of etcd's leader must not make the key last longer: a delay, a one-time code, a count.
  public static func isKept(_ key: Bytes) -> Bool {
    if let flights = flights(of: key) { return !key.starts(with: flights) }
    return key.starts(with: accounts) && (key.suffix(5).spells("/wait") || key.suffix(5).spells("/code"))
  }

  /// What finds an attempt that is under way and concerns such a key.
  ///
  /// - Precondition: `isKept`
  public static func flights(concerning key: Bytes) -> EtcdTransaction.Action {
    if let flights = flights(of: key) { return .count(prefix: flights) }
    return .read(key.dropLast(5) + Bytes(text: "/busy"))
  }

  public static let servers = Bytes(text: "/passcode/1/v/")
  public static func server(_ host: Bytes) -> Bytes { servers + hexadecimal(host) }

  /// The host name of the server whose note a key is; nil: it is no server's.
  public static func server(in key: Bytes) -> Bytes? {
    guard key.starts(with: servers) else { return nil }
    return bytes(hexadecimal: key[servers.count...])
  }

  private static let stations = Bytes(text: "/passcode/1/s/")

  /// Of the workstation whose count, or part of a count, a key is; nil: it is none.
  private static func flights(of key: Bytes) -> Bytes? {
    guard key.starts(with: stations) else { return nil }
    let name = key[stations.count...].prefix { $0 != UInt8(ascii: "/") }
    return stations + name + Bytes(text: "/f/")
  }

  public static func station(_ workstation: Bytes) -> Bytes {
    stations + hexadecimal(workstation)
  }
  public static func station(_ workstation: Bytes, account: Bytes) -> Bytes {
    station(workstation) + Bytes(text: "/a/") + hexadecimal(account)
  }
  public static func strangers(_ workstation: Bytes) -> Bytes { station(workstation) + Bytes(text: "/n") }
  public static func owners(_ workstation: Bytes) -> Bytes { station(workstation) + Bytes(text: "/o") }
  public static func flights(_ workstation: Bytes) -> Bytes { station(workstation) + Bytes(text: "/f/") }
  public static func flight(_ workstation: Bytes, _ attempt: Bytes) -> Bytes {
    flights(workstation) + hexadecimal(attempt)
  }

  /// What the key `epoch` holds; nil: nothing that a server writes.
  public static func epoch(in value: Bytes) -> UInt64? {
    guard let epoch = decimal(value[...]), (1..<1 << 62).contains(epoch), Text("\(epoch)").bytes == value
    else {
      return nil
    }
    return epoch
  }

  /// The account whose record a key is; nil: it is no record's.
  public static func account(_ key: Bytes) -> Bytes? {
    guard key.starts(with: accounts) else { return nil }
    return bytes(hexadecimal: key[accounts.count...])
  }
}
