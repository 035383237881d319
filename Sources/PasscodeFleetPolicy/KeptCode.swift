public import PasscodePolicy

/// A one-time code, which an administrator hands out for an account of a fleet: with it the account's person sets a first
/// passcode, or a new one in place of a forgotten one.
///
///     KTMXRWPB        8 letters, each drawn uniformly from 24: no I and no O, which look like 1 and 0
///
/// 24^8 is about 2^37. That suffices, because a guess is an attempt of the account like any other: the schedule leaves
/// about 30 a week, so a code that is valid for a week is guessed once in 3,000 million weeks. Someone who reads etcd's
/// disk has nothing to search without the fleet key; with it, they need 2^37 Argon2 hashes for a code that is worth
/// nothing once it has been used.
///
/// What is kept of it in etcd (`FleetKeys.code`), version 1:
///
///     passcode_code=1
///     epoch=3                      the fleet key's when the code was made
///     sealed=6f1c…                 hexadecimal: its credential (`Credential`), sealed for this fleet and this account
///
/// MUST (fleet):
/// 18  Anyone without the old passcode can set one only with a one-time code for that account, issued by an administrator:
///     it is charged like a passcode, expires with a lease, works once, and is deleted in the transaction that sets the
///     passcode.                                                          FleetCodeTests, test_verifier_codes.py
///
/// MUST (one-time codes):
///  1  It is drawn by a server, is shown once, and is kept nowhere but hashed and sealed.    test_verifier_codes.py
///  2  It is in no argument, environment, log or JSON.                                          test_verifier_codes.py
///  3  Its key has a lease: no clock is compared. Each change of etcd's leader lets it last up to an hour longer, none shorter.
///                                                                                              FleetCodeTests
///  4  It opens no login, and sets a passcode for its own account only: another account's code is a wrong one.
///                                                                         FleetCodeTests, test_verifier_codes.py
///  5  A wrong one is charged before it is hashed, in the account's own budget and the workstation's, and is locked out by
///     the same delays. None is remembered: the same wrong one again counts again.               FleetCodeTests
///  6  The transaction that sets a passcode deletes the code, no matter who sets it; so does removing the passcode. Of two
///     workstations with the correct code one sets a passcode.                                     FleetCodeTests
///  7  One of an earlier epoch is none: a snapshot may bring back a code that was used. One that was made since `restored`
///     replaces a passcode that is locked out until it is unlocked.                              FleetCodeTests
///  8  Root has none, and neither has a passcode that is disabled: it stays so.                   FleetCodeTests
///  9  A new passcode that may not be chosen is refused before the code is looked at, and leaves it.  FleetCodeTests
public struct KeptCode: Equatable, Sendable {
  /// Seconds for which it is valid if nobody says how long: 7 days; and the longest time.
  public static let usualSeconds: UInt64 = 7 * 86_400
  public static let longestSeconds: UInt64 = 90 * 86_400

  public let epoch: UInt64
  public let sealed: Bytes

  public init(epoch: UInt64, sealed: Bytes) {
    self.epoch = epoch
    self.sealed = sealed
  }

  /// Decodes what is kept; nil unless it is well-formed and complete.
  public init?(_ value: Bytes) {
    var lines = FleetLines(value)
    guard lines.number("passcode_code") == 1, let epoch = lines.number("epoch"),
      let digits = lines.value("sealed"), digits.count <= 2 * Record.longestSealed,
      let sealed = bytes(hexadecimal: digits), lines.rest.isEmpty
    else { return nil }
    self.init(epoch: epoch, sealed: sealed)
    guard encoded == value else { return nil }
  }

  public var encoded: Bytes {
    Text("passcode_code=1\nepoch=\(epoch)\nsealed=\(hexadecimal(sealed))\n").bytes
  }
}
