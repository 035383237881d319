import Foundation

/// Runs bodies in threads of which only one goes on at a time: each until it pauses, or ends.
final class Turns: @unchecked Sendable {
  /// Stands for whoever gives the turns.
  private static let giver = -1

  private let condition = NSCondition()
  private var turn = giver
  private var ended: Set<Int> = []
  private var gates: Set<Int> = []
  /// Whose turn it is, or was.
  private(set) var current = 0

  /// Starts one more; it begins with its first turn.
  func add(_ number: Int, _ body: @escaping () -> Void) {
    nonisolated(unsafe) let body = body
    let thread = Thread {
      self.await(number)
      body()
      self.condition.withLock {
        self.ended.insert(number)
        self.turn = Turns.giver
        self.condition.broadcast()
      }
    }
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Lets it go on, and returns when it has paused or ended.
  func give(_ number: Int) {
    condition.withLock {
      current = number
      turn = number
      condition.broadcast()
      while turn != Turns.giver { condition.wait() }
    }
  }

  /// For the one whose turn it is: returns when it gets the next one.
  ///
  /// - Parameter atGate: whether it is about to do something, and doesn't only wait.
  func pause(atGate: Bool) {
    let number = current
    condition.withLock {
      if atGate { gates.insert(number) } else { gates.remove(number) }
      turn = Turns.giver
      condition.broadcast()
    }
    self.await(number)
  }

  private func await(_ number: Int) {
    condition.withLock {
      while turn != number { condition.wait() }
    }
  }

  /// Whether it has paused because it is about to do something.
  func atGate(_ number: Int) -> Bool {
    condition.withLock { gates.contains(number) && !ended.contains(number) }
  }

  func hasEnded(_ number: Int) -> Bool {
    condition.withLock { ended.contains(number) }
  }
}
