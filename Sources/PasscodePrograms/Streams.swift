internal import CSystem
internal import PasscodeSystem

/// Standard output and standard error.
public enum Stream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes it all; false when that failed (a closed pipe, a full disk).
  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    writeAll(bytes, to: rawValue)
  }
}

/// Writes all bytes; false when that failed.
@inline(never)
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let written = try? retrying {
      // SAFETY: it reads the slice's own bytes.
      unsafe rest.withUnsafeBytes { unsafe CSystem.write(descriptor, $0.baseAddress, $0.count) }
    }
    guard let written, written > 0 else { return false }
    rest = rest.dropFirst(written)
  }
  return true
}
