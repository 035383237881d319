internal import PasscodePolicy
internal import PasscodeSystem

/// Where the passcodes go that `--generate` makes up: `user:passcode`, one a line, each before its record is written.
enum BatchOutput: ~Copyable {
  case nowhere
  /// A pipe or a file; a terminal only with --show.
  case standardOutput
  /// And how long it is.
  case file(Descriptor, Bytes, Int)

  init(_ session: Session) throws(Failure) {
    guard session.generates else {
      self = .nowhere
      return
    }
    guard let path = session.outputPath else {
      if Stream.output.isTerminal, !session.shows { throw .batch(.shown) }
      if session.wantsJSON { throw .batch(.jsonNeedsOutput) }
      self = .standardOutput
      return
    }
    do throws(Errno) { self = try BatchOutput.open(path) } catch {
      throw .batch(error == .denied ? .openOutput(path) : .output(path, error))
    }
  }

  /// Makes it, 0600; one that is there is continued, if it is root's alone.
  private static func open(_ path: Bytes) throws(Errno) -> BatchOutput {
    do throws(Errno) {
      let file = try Descriptor.open(path, .create(mode: 0o600))
      try file.setMode(0o600)
      return .file(file, path, 0)
    } catch {
      if error != .exists { throw error }
    }
    let file = try Descriptor.open(path, .readWrite)
    let status = try file.status()
    guard status.kind == .file, status.owner == 0, status.mode & 0o077 == 0, status.links == 1 else {
      throw .denied
    }
    return .file(file, path, status.size)
  }

  /// Returns when it is on the device, or in the pipe.
  mutating func write(_ name: Bytes, _ new: borrowing NewPasscode) throws(Failure) {
    // The one secret that leaves.
    let digits = new.passcode.read { code in code.indices.map { code[$0] } }
    let line: Text = "\(name):\(digits)\n"
    switch consume self {
    case .nowhere: self = .nowhere
    case .standardOutput:
      self = .standardOutput
      guard Stream.output.write(line) else { throw .unwritable }
    case .file(let file, let path, let size):
      let error = BatchOutput.append(line.bytes, file, size)
      self = .file(file, path, size + line.bytes.count)
      if let error { throw .batch(.output(path, error)) }
    }
  }

  /// nil: it worked; else the file is as it was.
  private static func append(_ line: Bytes, _ file: borrowing Descriptor, _ size: Int) -> Errno? {
    do throws(Errno) {
      try file.write(line, at: size)
      try file.syncData()
      return nil
    } catch {
      try? file.setSize(size)
      return error
    }
  }
}
