internal import PasscodeBytes
internal import PasscodeSystem

/// The machine's virtual consoles.
public enum Console {
  /// The name of the one whose screen is seen, such as "tty1"; empty: nothing tells. The corresponding file is
  /// /sys/devices/virtual/tty/tty0/active.
  public static var foreground: [UInt8] {
    guard let file = try? Descriptor.open(Bytes(text: "/sys/devices/virtual/tty/tty0/active"), .read),
      var line = try? file.read(16, at: 0), line.popLast() == UInt8(ascii: "\n")
    else { return [] }
    return line
  }
}
