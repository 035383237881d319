// Neither the module nor the helper compares faults or verdicts as a whole.

extension Fault: Equatable {
  public static func == (one: Fault, other: Fault) -> Bool {
    one.reason == other.reason && one.isConfiguration == other.isConfiguration && one.path == other.path
      && one.name == other.name && one.number == other.number && one.error == other.error
  }
}

extension FailedAttempts: Equatable {
  public static func == (one: FailedAttempts, other: FailedAttempts) -> Bool {
    one.count == other.count && one.time == other.time && one.service == other.service
  }
}
