public import PasscodePolicy
internal import PasscodeSystem

/// The PAM service that proves an account's password, and nothing else: /etc/pam.d/passcode.
public enum PasswordService {
  public static var name: String { "passcode" }
  public static var folder: Bytes { Bytes(text: "/etc/pam.d") }
  public static var path: Bytes { Bytes(text: "/etc/pam.d/passcode") }

  /// - Throws: a fault unless its file is there, root's, and writable by nobody else: where it is missing, libpam would
  ///   take `other` instead.
  public static func check() throws(Fault) {
    if case .missing = try Trust(access: .service, subject: .configuration).open(path) {
      throw Fault(.noPasswordService, path: path)
    }
  }
}
