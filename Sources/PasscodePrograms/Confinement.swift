internal import PasscodeBytes
internal import PasscodeSystem

/// What AppArmor lets this process do.
public enum Confinement {
  /// Adds a profile to the one that confines this process, for good: from now on it may do only what both allow.
  ///
  /// Nothing happens where AppArmor isn't in force, or where the profile in /etc/apparmor.d is an older one that the
  /// administrator has kept: no request is refused because of that. The corresponding C function is `aa_stack_profile`.
  ///
  /// - Precondition: this process still has the ids that it was started with, and is still dumpable (PR_SET_DUMPABLE):
  ///   otherwise it can't open the kernel's file.
  public static func narrow(to profile: [UInt8]) {
    let path = Bytes(text: "/proc/self/attr/apparmor/current")
    guard let file = try? Descriptor.open(path, .readWrite) else { return }
    try? file.write(Bytes(text: "stack ") + profile, at: 0)
  }
}
