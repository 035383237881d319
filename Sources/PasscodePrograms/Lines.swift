internal import CSystem
public import PasscodeSystem

extension Descriptor {
  /// Whether a line of the file is this one, however many there are. In the order of sort(1) it is found in a few reads.
  ///
  /// - Throws: EFBIG, too, if a line has more than 64 KiB.
  public func hasLine(_ line: [UInt8]) throws(Errno) -> Bool {
    let found = unsafe cs_has_line(raw, line, line.count)
    if found < 0 { throw Errno.last }
    return found == 1
  }
}

/// The lines of standard input, none longer than 4,096 bytes: what is longer comes in pieces. Not for secrets.
public struct InputLines {
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false

  public init() {}

  /// The next line without its newline; nil at the end, or where reading failed.
  public mutating func next() -> [UInt8]? {
    while true {
      if let end = buffer[start...].prefix(4_096).firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return [UInt8](buffer[start..<end])
      }
      if buffer.count - start >= 4_096 || isAtEnd { return rest() }
      fill()
    }
  }

  private mutating func rest() -> [UInt8]? {
    let piece = [UInt8](buffer[start...].prefix(4_096))
    start += piece.count
    return piece.isEmpty ? nil : piece
  }

  private mutating func fill() {
    buffer.removeFirst(start)
    start = 0
    var part = [UInt8](repeating: 0, count: 65_536)
    let got = (try? retrying { unsafe CSystem.read(0, &part, part.count) }) ?? 0
    isAtEnd = got == 0
    buffer += part.prefix(got)
  }
}
