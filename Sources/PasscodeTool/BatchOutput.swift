public import PasscodePolicy
internal import PasscodePrograms
public import PasscodeSystem

/// Where the passcodes and one-time codes go that a batch makes up: a line `user:passcode` for each, written before it is
/// set.
public struct BatchOutput {
  private let lines: GuardedOutput
  private let path: Bytes

  /// - Parameter path: empty: standard output, which is a terminal only if that was asked for.
  public init(_ path: Bytes, orTerminal: Bool) throws(Failure) {
    self.path = path
    do throws(Errno) {
      lines = path.isEmpty ? try .standard(orTerminal: orTerminal) : try .file(path)
    } catch {
      switch error {
      case .denied: throw path.isEmpty ? .shown : .openOutput(path)
      case .wouldBlock: throw .inUse(path)
      default: throw .output(path, error)
      }
    }
  }

  /// Writes a name with its secret, and returns when they are on the device or in the pipe.
  public func write(_ name: Bytes, _ secret: borrowing Passcode, _ line: inout TypedLine) throws(Failure) {
    defer { line.wipe() }
    line.fill(name, secret)
    do throws(Errno) { try lines.write(line) } catch {
      throw path.isEmpty ? .unwritable : .output(path, error)
    }
  }

  /// Closes the output in a copy of this process, as `GuardedOutput` says.
  public func closeInCopy() { lines.closeInCopy() }
}
