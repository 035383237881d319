/// What AppArmor lets this process do.
public enum Confinement {
  /// Adds a profile to the one that confines this process, for good: from now on it may do only what both allow.
  ///
  /// Nothing happens where AppArmor isn't in force, or where the profile in /etc/apparmor.d is an older one that the
  /// administrator has kept: nobody is refused for that. The corresponding C function is `aa_stack_profile`.
  ///
  /// - Precondition: this process still has the ids that it was started with, and can be seen by others of the same ids:
  ///   otherwise the kernel's file is closed to it.
  public static func narrow(to profile: [UInt8]) {
    let path = [UInt8]("/proc/self/attr/apparmor/current".utf8)
    guard let file = try? Descriptor.open(path, .readWrite) else { return }
    try? file.write([UInt8]("stack ".utf8) + profile, at: 0)
  }
}
