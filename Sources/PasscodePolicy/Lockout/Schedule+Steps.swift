// What only programs beside the login need of a schedule.

extension Schedule {
  /// A fleet's default: the same up to the ninth failure, then eight hours after each further one.
  public static var fleet: Schedule { Schedule(sound: "3:1m,5:5m,7:15m,9:1h,10:8h") }

  public var steps: [Step] {
    var steps: [Step] = []
    _ = text[...].allParts(between: UInt8(ascii: ",")) { part in
      Step(part).map { steps.append($0) } != nil
    }
    return steps
  }
}

extension Schedule: Equatable {
  /// However the times are written.
  public static func == (one: Schedule, other: Schedule) -> Bool { one.steps == other.steps }
}
