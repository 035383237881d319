internal import PasscodePolicy
internal import PasscodeSystem

/// The wrong passcode that was typed last: typing it again doesn't count again, as on phones.
///
///     /run/passcode/<uid>, 40 bytes:
///     offset 0    time      8 bytes    CLOCK_BOOTTIME in milliseconds, little-endian
///     offset 8    digest   32 bytes    keyed BLAKE2b under the key for digests, of label, uid, salt, code
///
/// MUST (attempt):
/// 11  Typing the same wrong passcode again is `wrong` without a charge or a hash, for 5 minutes of CLOCK_BOOTTIME, while any
///     failure counts. It is asked only after the lockout was decided. What is kept is a keyed digest in the runtime
///     directory, bound to the credential's salt, so it is stale when the credential changes. If it is absent, damaged or
///     can't be written, the attempt simply counts. Only with `/etc/security/passcode.conf`: a test store leaves nothing in
///     the runtime directory.                                                                    test_repeated.py
struct LastWrong {
  private static let validFor: UInt64 = 300_000
  private static let length = 8 + Length.hash

  private let file: Bytes
  private let digest: Bytes
  private let access: Access

  /// Where an account's last wrong passcode is kept, and what is kept of the one that was typed now. Only with the default
  /// configuration file: a test store leaves nothing in the runtime directory.
  init?(
    _ account: Account, _ passcode: borrowing Passcode, _ unsealed: inout Unsealed,
    _ configuration: Configuration
  ) {
    guard configuration.isUsual else { return nil }
    unsealed.subkey.derive(.digests, from: unsealed.key)
    let uid = decimalDigits(UInt64(account.uid))
    let context = Bytes(text: "pam_passcode last wrong\n") + uid + Bytes(text: "\n")
    guard let digest = unsealed.digest.keyed(unsealed.subkey, context, unsealed.credential, passcode)
    else { return nil }
    file = uid
    self.digest = digest
    access = configuration.access
  }

  /// Whether the passcode repeats the last wrong one.
  func isRepeated(at now: Instant) -> Bool {
    guard let content = RunFolder.recent(file, LastWrong.length, within: LastWrong.validFor, of: now)
    else { return false }
    return equalInConstantTime(Bytes(content[8...]), digest)
  }

  /// Keeps the passcode as the last wrong one.
  func remember(at now: Instant) {
    do throws(Errno) {
      try RunFolder.openOrMake(file, access).write(littleEndian(now.milliseconds, 8) + digest, at: 0)
    } catch {
      // Then it counts again; nobody is let in by that.
    }
  }
}
