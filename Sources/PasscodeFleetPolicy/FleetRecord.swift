public import PasscodePolicy

/// A fleet's record of one account, as it is kept in etcd, version 1:
///
///     passcode_fleet=1
///     epoch=3                      the fleet key's when the passcode was last set or unlocked
///     passcode_record=2 …          the record, as `RecordCodec` writes it, without padding
///
/// - Its revision in etcd is its generation: the record's own is always 1. Its uid is `FleetRecord.uid`: an account is
///   known by its name, and may have another uid on each workstation.
/// - It MUST be byte for byte what its writer makes of it: each of its lines has one spelling.     FleetTests, FuzzWard
/// - Time: a delay is a lease (`FleetKeys.wait`); the ledger's moment is thus always `never`, and there are no terms.
///                                                                                                FleetTests
public struct FleetRecord: Equatable, Sendable {
  /// The uid in a fleet's records, which belong to names: no account has this one.
  public static let uid = UInt32.max

  /// An account's record without a passcode.
  public static func empty(_ account: Bytes) -> Record { Record(uid: uid, name: account, generation: 1) }

  public var record: Record
  public var epoch: UInt64

  public init(_ record: Record, epoch: UInt64) {
    self.record = record
    self.epoch = epoch
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ value: Bytes, account: Bytes, _ codec: RecordCodec) {
    var lines = FleetLines(value)
    guard lines.number("passcode_fleet") == 1, let epoch = lines.number("epoch"),
      let record = codec.decodeUnpadded(Bytes(lines.rest)), record.uid == FleetRecord.uid,
      record.generation == 1, record.name == account, record.terms == .none, !record.ledger.served,
      record.ledger.lastFailure == .never
    else { return nil }
    self.init(record, epoch: epoch)
  }

  public func encoded(_ codec: RecordCodec) -> Bytes {
    Text("passcode_fleet=1\nepoch=\(epoch)\n").bytes + codec.encodeUnpadded(record)
  }
}

/// The wrong passcodes of one workstation, over all accounts:
///
///     failures=7
///     window=5f0c…                 32 hexadecimal digits, drawn when it began to count
///
/// The count lasts for an hour (its lease) from the first one on. The last one that is allowed (`FleetOptions.stationLimit`)
/// starts another hour, in which no passcode is accepted there. If it turns out right, the others count in the first hour
/// again.
///
/// Two subsets have counts of their own, which end with the same window:
///
/// - Those for one account. Once there are `mostOfAccount`, no passcode of that account is accepted there: otherwise one
///   person could block the workstation for everybody by typing two wrong ones before each correct one.
/// - Those for strangers (`StationOwners`). Once there are `FleetOptions.strangersLimit`, only owners' passcodes are
///   accepted there.                                                                   FleetTests, FleetStationTests
public struct StationCount: Equatable, Sendable {
  /// Wrong passcodes, and those that are being checked: 1 to `most`.
  public let failures: UInt64
  public let window: Bytes

  /// The highest limit that an administrator may set.
  public static let most: UInt64 = 50
  /// The most for one account, whatever the limit.
  public static let mostOfAccount: UInt64 = 8
  /// How long the window lasts, and how long a full count blocks the workstation.
  public static let seconds: UInt64 = 3_600
  public static let windowLength = 16

  public init(failures: UInt64, window: Bytes) {
    self.failures = failures
    self.window = window
  }

  /// nil unless the input is well-formed and complete.
  public init?(_ value: Bytes) {
    var lines = FleetLines(value)
    guard let failures = lines.number("failures"), (1...StationCount.most).contains(failures),
      let digits = lines.value("window"), digits.count == 2 * StationCount.windowLength,
      let window = bytes(hexadecimal: digits), lines.rest.isEmpty
    else { return nil }
    self.init(failures: failures, window: window)
  }

  public var encoded: Bytes {
    Text("failures=\(failures)\nwindow=\(hexadecimal(window))\n").bytes
  }

  /// Whether the workstation's count for one account is full: no other attempt on that account may begin there.
  public var isFullForAccount: Bool { failures >= StationCount.mostOfAccount }

  /// The count with one more failure.
  public var next: StationCount { StationCount(failures: failures + 1, window: window) }

  /// The count with one failure less; nil where none is left.
  public var previous: StationCount? {
    failures > 1 ? StationCount(failures: failures - 1, window: window) : nil
  }
}

extension RecordCodec {
  /// The record in a copy without padding, or nil unless it is well-formed and complete.
  fileprivate func decodeUnpadded(_ text: Bytes) -> Record? {
    guard text.count <= RecordCodec.copyLength, text.last == UInt8(ascii: "\n") else { return nil }
    return decode(padded(text)[...])
  }
}
