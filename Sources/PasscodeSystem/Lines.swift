internal import CSystem

extension Descriptor {
  /// Whether a line of the file is this one, however many there are.
  ///
  /// - Throws: EFBIG, too, if a line has more than 64 KiB.
  public func hasLine(_ line: [UInt8]) throws(Errno) -> Bool {
    let found = unsafe cs_has_line(raw, line, line.count)
    if found < 0 { throw Errno.last }
    return found == 1
  }
}
