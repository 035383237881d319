public import PasscodePolicy
public import PasscodePrograms
public import PasscodeSystem
internal import PasscodeVault

/// The list of a batch, line by line.
public struct BatchLines: ~Copyable {
  public enum Next {
    case user(Bytes)
    case nothing
    case bad(BatchLine.Problem)
    case notYet, end

    var isLine: Bool {
      switch self {
      case .user, .nothing, .bad: true
      case .notYet, .end: false
      }
    }
  }

  private var lines: GuardedLines
  private let form: BatchLine.Form
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
    case .end: return .end
    case .tooLong: return .bad(.tooLong)
    case .line: break
    }
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

  /// Waits for a worker's result, or also for more of the list.
  public func wait(
    for workers: [Worker], orInput: Bool, _ milliseconds: Int32
  ) -> (workers: [Int], input: Bool) {
    Worker.ready(workers, lines, orInput: orInput, within: milliseconds)
  }

  public mutating func fill() throws(Failure) {
    do throws(Errno) { try lines.fill() } catch { throw .unreadableList(error) }
  }

  public mutating func wipe() { lines.wipe() }
}
