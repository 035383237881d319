internal import PasscodePolicy
internal import PasscodeSystem

/// That root is taking a passcode back: bits in the mode of its record's file, which need neither the record's lock nor
/// space on the disk. Root's tool sets them where somebody holds the record, and takes them away under its lock when the
/// record itself says the same; one that stays belongs to a command that was cut off.
///
///     01000    passcode disable
///     00100    passcode remove
///
/// - It MUST be on the device before the tool waits.                                        test_revocation.py
/// - No attempt MUST be charged once it is seen, nor granted: it is looked at under the lock, and again before an attempt is
///   settled.                                                                               test_revocation.py
/// - Writing to the file keeps these bits, and an older version ignores them.
enum RevocationMark: UInt32 {
  case disabling = 0o1000
  case removing = 0o0100

  static let all: UInt32 = 0o1100

  /// Whether a status has to say that the passcode is disabled.
  static func refuses(_ status: Store.Checked, _ record: Record) -> Bool {
    status.mode & disabling.rawValue != 0 || status.mode & removing.rawValue != 0 && record.state != .removed
  }
}
