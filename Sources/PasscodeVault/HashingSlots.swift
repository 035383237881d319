internal import PasscodePolicy
internal import PasscodeSystem

/// The right to run one Argon2 now: `max_parallel` of them on the whole machine, for all doors together, so
/// that 500 logins at once don't take 500 × memlimit.
///
///     <store>/places     64 bytes, one for each place that there can be; their values mean nothing
///
/// A place is held by an open-file-description lock on its byte: a process that dies gives it back. Whoever takes
/// one touches the file, so that those who wait see that something moves.
///
/// MUST 12 of the attempt protocol (tests: test_places.py):
/// - The record's lock MUST be taken first, then the place, always.
/// - Waiting MUST end: when no place was taken for 9 s (all holders are stuck: the attempt goes on without
///   a place, and that is logged), or after 120 s of movement (`unavailable`, uncharged).
enum Places {
  private static var name: Bytes { Bytes(text: "places") }

  private static var nothing: Bytes { Bytes(repeating: 0, count: Options.Policy.mostParallel) }

  /// A held place, given back when it goes.
  struct Held: ~Copyable {
    private let range: RangeLock?

    fileprivate init(_ range: consuming RangeLock?) {
      self.range = range
    }
  }

  /// Makes the file where there is none: with the store, while there is room on the disk.
  static func make(_ store: borrowing Store) throws(Fault) {
    _ = try store.openShared(name, content: nothing)
  }

  /// Tells one moment from another: a place was taken in between.
  static func movement(_ store: borrowing Store) -> Bytes {
    guard let file = try? store.open(name) else { return [] }
    return movement(file)
  }

  private static func movement(_ file: borrowing Descriptor) -> Bytes {
    decimalDigits((try? file.status().modified) ?? 0)
  }

  /// Waits for one of the first `count` places.
  ///
  /// - Parameter log: is told when the attempt goes on without one.
  static func take(_ store: borrowing Store, _ count: Int, _ log: (Text) -> Void) throws(Fault) -> Held {
    let file: Descriptor
    do throws(Fault) {
      file = try store.openShared(name, content: nothing)
    } catch {
      // Nobody is kept out by that: not even a full disk stops a right passcode (MUST 8).
      log("hashing without a place: \(error.text)")
      return Held(nil)
    }
    return try wait(file, count, log)
  }

  private static func wait(
    _ file: consuming Descriptor, _ count: Int, _ log: (Text) -> Void
  ) throws(Fault) -> Held {
    var wait = Wait(stuckAfter: Wait.forPlace)
    while true {
      for index in 0..<count where RangeLock.tryLock(file, at: index, count: 1) {
        // Where that fails nothing is lost but patience: those who wait give up waiting sooner.
        try? file.touch()
        return Held(RangeLock(file, at: index, count: 1))
      }
      switch wait.pause({ movement(file) }) {
      case .again: continue
      case .stuck:
        log("every place for hashing is held by a process that doesn't move: going on without one")
        return Held(nil)
      case .tooLong:
        throw Fault(.busy, "too many logins at once: no place within 2 minutes")
      }
    }
  }
}

extension Options.Policy {
  /// How many may hash at once: as configured, or one for each processor, and no more than a quarter of the
  /// machine's memory holds.
  var places: Int {
    if maxParallel > 0 { return min(Int(maxParallel), Options.Policy.mostParallel) }
    let byMemory = Machine.memory / 4 / max(cost.memory, 1)
    return max(1, min(Machine.processors, Int(clamping: byMemory), Options.Policy.mostParallel))
  }
}
