internal import PasscodePolicy
internal import PasscodeSystem

/// That root is taking a passcode back: bits in the mode of its record's file, which need neither the record's lock nor
/// space on the disk. Root's tool sets them where somebody holds the record, and takes them away under its lock when the
/// record itself says the same; one that stays belongs to a command that was cut off.
///
///     01000    passcode disable
///     00100    passcode remove
///
/// MUST (attempt):
/// 14  Root's `disable` and `remove` wait for nobody. If somebody holds the record, the mark is made durable first: from
///     then on no attempt is charged, and one that was charged before is refused when it is to be settled. A process that
///     still holds the record after 1 s is killed through a pidfd, after it was checked once more that it holds this very
///     file (safe because of 7). All of this takes 10 s at most. A holder that can't be killed is named, with exit status
///     7: it alone may still be let in, if it had already looked at the mark. An interrupted command leaves the passcode
///     as it was, or refused, and is finished by repeating it; `enable` removes both marks.    test_revocation.py
///
/// Writing to the file keeps these bits, and an older version ignores them.
package enum RevocationMark: UInt32 {
  case disabling = 0o1000
  case removing = 0o0100

  package static let all: UInt32 = 0o1100

  /// Whether a status has to say that the passcode is disabled.
  static func refuses(_ status: Store.Checked, _ record: Record) -> Bool {
    status.mode & disabling.rawValue != 0 || status.mode & removing.rawValue != 0 && record.state != .removed
  }
}
