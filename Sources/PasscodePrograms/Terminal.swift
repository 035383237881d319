internal import CSystem
internal import PasscodeBytes
public import PasscodeSystem

// What only the tools do with standard input, standard output and the person's terminal.

/// What reading a line came to.
public enum LineRead: Equatable, Sendable {
  /// A line was read.
  case line
  /// More than `TypedLine.longest` bytes; what came is wiped. Not a passcode, and not a password.
  case tooLong
  case endOfFile
  /// Ctrl-C, a closed window, a session that ends.
  case interrupted
  case failed(Errno)
}

extension TypedLine {
  /// Reads one line from standard input, byte by byte: what follows belongs to somebody else. The newline is
  /// not part of it; a last line without one counts.
  public mutating func readFromInput() -> LineRead {
    wipe()
    for length in 0...TypedLine.longest {
      let place = unsafe start + length
      let got: Int
      do throws(Errno) {
        got = try retrying { unsafe CSystem.read(0, place, 1) }
      } catch {
        wipe()
        return .failed(error)
      }
      if got == 0 && length == 0 { return .endOfFile }
      if unsafe got == 0 || place.pointee == UInt8(ascii: "\n") {
        count = length
        return .line
      }
    }
    wipe()
    return .tooLong
  }

  /// Shows `prompt` on the person's terminal and reads one line that isn't shown. The terminal is as it was
  /// before in every case, also after Ctrl-C or Ctrl-Z.
  public mutating func read(from terminal: borrowing Terminal, prompt: [UInt8]) -> LineRead {
    wipe()
    var signal: Int32 = 0
    let place = unsafe start
    let length = unsafe withCString(prompt) { text in
      unsafe place.withMemoryRebound(to: CChar.self, capacity: TypedLine.longest) { line in
        unsafe cs_read_hidden(terminal.file.raw, text, line, TypedLine.longest, &signal)
      }
    }
    switch length {
    case -1:
      let error = Errno.last
      wipe()
      return error.code == EIO ? .interrupted : .failed(error)
    case -2: return .endOfFile
    case -3:
      wipe()
      return .interrupted
    case 0...TypedLine.longest:
      count = length
      return .line
    default:
      wipe()
      return .tooLong
    }
  }
}

/// The person's terminal, whatever standard input and output are.
public struct Terminal: ~Copyable {
  let file: Descriptor

  /// Opens the terminal of this process; nil if there is none. The corresponding file is /dev/tty, tty(4).
  public init?() {
    let path = Bytes(text: "/dev/tty") + [0]
    guard let raw = try? retrying({ unsafe cs_openat(AT_FDCWD, path, O_RDWR, 0) })
    else {
      return nil
    }
    file = Descriptor(adopting: raw)
  }
}

extension Stream {
  /// Writes what lies in guarded memory, and makes no copy of it; false as above.
  public func write(_ line: borrowing TypedLine) -> Bool { unsafe write(line.start, line.count) }

  /// Writes a passcode, or a one-time code, and a newline.
  public func writeLine(_ passcode: borrowing Passcode) -> Bool {
    unsafe write(passcode.start, passcode.count) && write([UInt8(ascii: "\n")])
  }

  private func write(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var done = 0
    while done < count {
      let (place, rest) = unsafe (start + done, count - done)
      guard let written = try? retrying({ unsafe CSystem.write(rawValue, place, rest) }), written > 0 else {
        return false
      }
      done += written
    }
    return true
  }

  /// The corresponding C function is `isatty`.
  public var isTerminal: Bool { isatty(rawValue) == 1 }
}

/// True if standard input is a terminal.
public func standardInputIsTerminal() -> Bool {
  isatty(0) == 1
}

/// Whether something can be read from standard input, waiting for it up to so many milliseconds. The
/// corresponding C function is `poll`.
public func inputIsReady(within milliseconds: Int32) -> Bool {
  cs_input_is_ready(milliseconds) != 0
}
