public import PasscodePolicy
public import PasscodePrograms
public import PasscodeSystem
internal import PasscodeVault

/// The list of a batch: its lines, with their numbers.
public struct BatchLines: ~Copyable {
  public enum Next {
    case user(Bytes)
    case nothing
    case bad(BatchLine.Problem)
    case notYet, end
  }

  private var lines: GuardedLines
  private let form: BatchLine.Form
  /// The number of the last line, from 1.
  public private(set) var number: UInt64 = 0
  public private(set) var isAtEnd = false
  private var nameLength = 0

  /// - Parameter path: "-": standard input.
  public static func open(
    _ path: Bytes, _ form: BatchLine.Form, _ sodium: Sodium
  ) throws(Failure) -> BatchLines {
    let lines: GuardedLines?
    do throws(Errno) { lines = try GuardedLines.open(path.spells("-") ? nil : path, sodium) } catch {
      throw .list(path, error)
    }
    guard let lines = consume lines else { throw .fault(Fault(.noMemory)) }
    if form == .userAndPasscode, lines.isTerminal { throw .typed }
    return BatchLines(lines: lines, form: form)
  }

  /// Bytes of the list, if that is known.
  public var size: Int? { lines.size }
  /// Bytes up to and including the last line.
  public var position: Int { lines.position }

  public mutating func next() -> Next {
    switch lines.next() {
    case .notYet: return .notYet
    case .end:
      isAtEnd = true
      return .end
    case .tooLong:
      number += 1
      return .bad(.tooLong)
    case .line: break
    }
    number += 1
    let form = form
    switch lines.read({ BatchLine($0, form) }) {
    case .nothing: return .nothing
    case .bad(let problem): return .bad(problem)
    case .user(let name):
      nameLength = name.count
      return .user(name)
    }
  }

  /// The passcode of the last line.
  public func copyPasscode(_ line: inout TypedLine, _ passcode: inout Passcode) {
    lines.copy(from: nameLength + 1, to: &line)
    _ = passcode.take(line)
    line.wipe()
  }

  /// Waits a moment for a worker's result, or also for more of the list.
  public func wait(for workers: [Worker], orInput: Bool) -> (workers: [Int], input: Bool) {
    Worker.ready(workers, lines, orInput: orInput, within: 200)
  }

  public mutating func fill() throws(Failure) {
    do throws(Errno) { try lines.fill() } catch { throw .unreadableList(error) }
  }

  public mutating func wipe() { lines.wipe() }
}
