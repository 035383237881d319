import PasscodePolicy

@testable import PasscodeFleet
@testable import PasscodeFleetPolicy
@testable import PasscodeVault

/// What a transaction is for, by what it writes; and on what each depends.
enum FleetStep: Hashable {
  case charge, move, fence, renewal, settling, release, invitation, withdrawal, setting, alteration,
    declaration

  /// nil: it depends on nothing.
  init?(_ transaction: EtcdTransaction) {
    guard !transaction.conditions.isEmpty else { return nil }
    let written = Set(transaction.actions.compactMap { $0.put.map(Key.init) })
    let deleted = Set(transaction.actions.compactMap { $0.deleted.map(Key.init) })
    if written.contains(.note) {
      self = .move
    } else if written.contains(.busy) {
      self = .charge
    } else if written.contains(.epoch) {
      self = .declaration
    } else if written.contains(.wait) {
      self = .renewal
    } else if written.contains(.code) {
      self = .invitation
    } else if written == [.record], deleted.isEmpty, !transaction.otherwise.isEmpty {
      self = .fence
    } else if written.contains(.record) {
      self = !deleted.contains(.flight) ? .alteration : deleted.contains(.code) ? .setting : .settling
    } else {
      self = deleted.contains(.code) ? .withdrawal : .release
    }
  }

  /// The keys that transactions depend on.
  enum Key: Hashable {
    case record, wait, busy, last, code, station, owners, flight, epoch, note, other

    init(_ key: Bytes) {
      let text = String(decoding: key, as: UTF8.self)
      switch text.split(separator: "/").dropFirst(2).map(String.init) {
      case ["epoch"]: self = .epoch
      case let parts where parts.first == "l": self = .note
      case let parts where parts.first == "u": self = Key(ofAccount: parts.dropFirst(2).first)
      case let parts where parts.first == "s" && parts.last == "o": self = .owners
      case let parts where parts.first == "s": self = parts.contains("f") ? .flight : .station
      default: self = .other
      }
    }

    private init(ofAccount part: String?) {
      switch part {
      case nil: self = .record
      case "wait": self = .wait
      case "busy": self = .busy
      case "last": self = .last
      case "code": self = .code
      case _?: self = .other
      }
    }
  }
}

extension EtcdTransaction.Condition {
  var key: FleetStep.Key {
    switch self {
    case .unchanged(let key, _), .holds(let key, _): FleetStep.Key(key)
    }
  }
}

extension EtcdTransaction.Action {
  fileprivate var put: Bytes? {
    if case .put(let key, _, _) = self { key } else { nil }
  }

  fileprivate var deleted: Bytes? {
    if case .delete(let key) = self { key } else { nil }
  }
}
