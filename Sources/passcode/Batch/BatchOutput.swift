internal import PasscodePolicy
internal import PasscodeSystem
internal import PasscodeTool

/// Where the passcodes of `--generate` go: a line `user:passcode` for each, written before the record is.
struct BatchOutput {
  /// nil: no passcodes are generated.
  private let lines: GuardedOutput?
  /// Empty: standard output.
  private let path: Bytes

  init(_ session: Session) throws(Failure) {
    path = session.outputPath ?? []
    guard session.generates else {
      lines = nil
      return
    }
    if path.isEmpty, session.wantsJSON { throw .jsonNeedsOutput }
    do throws(Errno) {
      lines = path.isEmpty ? try .standard(orTerminal: session.shows) : try .file(path)
    } catch {
      switch error {
      case .denied: throw path.isEmpty ? .shown : .openOutput(path)
      case .wouldBlock: throw .inUse(path)
      default: throw .output(path, error)
      }
    }
  }

  /// Writes a name with its passcode, and returns when they are on the device or in the pipe.
  func write(_ name: Bytes, _ secrets: inout Secrets) throws(Failure) {
    guard let lines else { return }
    defer { secrets.line.wipe() }
    secrets.line.fill(name, secrets.change.new.passcode)
    do throws(Errno) { try lines.write(secrets.line) } catch {
      throw path.isEmpty ? .unwritable : .output(path, error)
    }
  }

  /// Closes the output in a copy of this process, as `GuardedOutput` says.
  func closeInCopy() {
    lines?.closeInCopy()
  }
}
