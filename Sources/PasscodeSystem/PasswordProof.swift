internal import CPAM

extension Password {
  /// Whether a PAM service accepts the password and nothing else: it must have asked once. Wiped afterwards. The corresponding C
  /// functions are `pam_start_confdir`, `pam_authenticate` and `pam_end`.
  ///
  /// - Parameter folder: where the service's file is.
  public mutating func proves(_ user: [UInt8], to service: [UInt8], in folder: [UInt8]) -> Bool {
    defer { line.wipe() }
    // A NUL would cut the password short.
    guard line.read({ typed in typed.indices.allSatisfy { typed[$0] != 0 } }) else { return false }
    return unsafe line.lend { unsafe cpam_proves(withNUL(service), withNUL(user), withNUL(folder), $0) } != 0
  }
}
